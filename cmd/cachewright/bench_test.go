//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

const brokenVariable = "BENCH_TEST_DRIVER"

// init makes the test binary the driver of a lock that is none.
func init() {
	if os.Getenv(brokenVariable) == "" {
		return
	}
	sdk.Serve(sdk.Define("broken", "1", func(context.Context, struct{}) (broken, error) { return broken{}, nil }))
	os.Exit(0)
}

// broken gives its lease to everybody.
type broken struct{}

func (broken) Traits() sdk.Traits                                       { return sdk.Traits{LockScope: sdk.ScopeHost} }
func (broken) Get(context.Context, string) ([]byte, bool, error)        { return nil, false, nil }
func (broken) Set(context.Context, string, []byte, time.Duration) error { return nil }
func (broken) Delete(context.Context, string) (bool, error)             { return false, nil }
func (broken) Close() error                                             { return nil }
func (broken) AcquireLease(_ context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return sdk.LeaseGrant{OK: true, Fence: uint64(time.Now().UnixNano()), Remaining: r.Lease}, nil
}

func (broken) RenewLease(_ context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return sdk.LeaseGrant{OK: true, Remaining: r.Lease}, nil
}

func (broken) ReleaseLease(context.Context, sdk.LeaseRequest) (bool, error) { return true, nil }

func benchShell(t *testing.T) shell {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(roleVariable, "program") // of the processes that contend
	return newShell(t, fmt.Sprintf(`default: file
prefix: app
drivers:
  broken: {run: command, command: [%q], env: {%s: "1"}}
stores:
  file: {driver: file, path: ./entries}
  memory: {driver: memory}
  broken: {driver: broken}
`, self, brokenVariable))
}

func TestBenchLocksFindsNothingWrongWithALock(t *testing.T) {
	s := benchShell(t)
	code, stdout, stderr := s.run("", "bench", "locks", "--processes", "2", "--goroutines", "2", "--acquisitions", "50", "--lease", "2s")
	row := regexp.MustCompile(`(?m)^2 +2 +([5-9]\d|\d{3,}) +\d+ +\d+ +\d+\.\d\dms \(\d+\.\d\dms\) +\S.* 0$`)
	if code != exitYes || !row.MatchString(stdout) || stderr != "" {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, stderr = s.run("", "--json", "--store", "memory", "bench", "locks", "--acquisitions", "1000000000", "--time", "500ms")
	var report benchReport
	if err := json.Unmarshal([]byte(stdout), &report); code != exitYes || err != nil {
		t.Fatalf("exit %d, %v\n%s%s", code, err, stdout, stderr)
	}
	if report.Processes != 1 || report.Acquisitions == 0 || report.HandOver.Count == 0 || len(report.Violations) != 0 {
		t.Errorf("on memory: %+v", report)
	}
}

func TestBenchLocksFindsALockThatIsNone(t *testing.T) {
	s := benchShell(t)
	code, stdout, stderr := s.run("", "--store", "broken", "bench", "locks", "--processes", "2", "--acquisitions", "100")
	if code != exitFailed || !regexp.MustCompile(`(?m)^overlap: lock "bench:locks:\w+": process \d goroutine \d`).MatchString(stderr) ||
		!regexp.MustCompile(`the lock is none: \d+ violations`).MatchString(stderr) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

func TestBenchLocksRefusesWhatMakesNoSense(t *testing.T) {
	benchShell(t).play([]step{
		{args: "bench", code: exitUsage, stderr: "usage: cachewright bench locks"},
		{args: "bench locks k", code: exitUsage, stderr: "usage: cachewright"},
		{args: "bench locks --goroutines 0", code: exitUsage, stderr: "--goroutines is 0"},
		{args: "bench locks --time 0s", code: exitUsage, stderr: "--time is 0s"},
		{args: "bench locks --lease 1ms", code: exitUsage, stderr: "the lease 1ms is not between"},
		{args: "--store memory bench locks --processes 2", code: exitUsage, stderr: "give --processes 1"},
		{args: "--store nope bench locks", code: exitUsage, stderr: `unknown store "nope"`},
	})
}
