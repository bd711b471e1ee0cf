//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	goredis "github.com/redis/go-redis/v9"
)

// roleVariable makes the test binary the program, or a driver of its own.
const roleVariable = "LOCK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "program":
		killAfter = 300 * time.Millisecond
		main()
	case "redis":
		sdk.Serve(redis.Driver)
	default:
		os.Setenv("GORACE", "atexit_sleep_ms=0") // drivers and programs inherit it
		os.Exit(m.Run())
	}
}

// A lockStore is a store whose locks reach other processes, and a way to take
// one away from its holder.
type lockStore struct {
	shell
	name  string
	steal func(t *testing.T, key string)
}

func lockStores(t *testing.T) map[string]lockStore {
	t.Helper()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newShell(t, fmt.Sprintf(`default: file
prefix: app
drivers:
  redis: {run: command, command: [%q], env: {%s: redis}}
stores:
  file: {driver: file, path: ./entries}
  redis: {driver: redis, addr: %q}
  memory: {driver: memory}
`, self, roleVariable, server.Addr()))
	return map[string]lockStore{
		"file":  {s, "file", func(t *testing.T, _ string) { stealFile(t, filepath.Join(s.dir, "entries")) }},
		"redis": {s, "redis", func(t *testing.T, key string) { stealRedis(t, server, key) }},
	}
}

// stealFile takes all records of locks away.
func stealFile(t *testing.T, dir string) {
	t.Helper()
	records := filepath.Join(dir, "locks-exclusive")
	if err := os.Rename(records, records+".stolen"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(records + ".stolen"); err != nil {
		t.Fatal(err)
	}
}

func stealRedis(t *testing.T, server *servertest.Redis, key string) {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Socket()})
	defer client.Close()
	name := "app:" + key + "\x00exclusive"
	if n, err := client.HSet(t.Context(), name, "owner", "thief").Result(); n != 0 || err != nil {
		t.Fatalf("the lock %q of redis had no owner: %v", name, err)
	}
}

// lock runs the program with the store and this lock command line.
func (s lockStore) lock(stdin string, args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	return s.run(stdin, append([]string{"--json", "--store", s.name, "lock"}, args...)...)
}

// A program is the program as a process of its own, with a command that has
// said that it is inside.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Scanner
	stderr *strings.Builder
}

func (s lockStore) start(t *testing.T, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, stderr: &strings.Builder{}}
	p.cmd = exec.CommandContext(t.Context(), self, append([]string{"--config", filepath.Join(s.dir, "config.yaml"), "--json", "--store", s.name, "lock"}, args...)...)
	p.cmd.Env = append(os.Environ(), roleVariable+"=program")
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewScanner(stdout)
	p.says("inside")
	return p
}

func (p *program) says(want string) {
	p.t.Helper()
	if !p.stdout.Scan() || p.stdout.Text() != want {
		_ = p.cmd.Wait()
		p.t.Fatalf("the command said %q, want %q; stderr: %s", p.stdout.Text(), want, p.stderr)
	}
}

// ends waits for the program's end.
func (p *program) ends(code int) {
	p.t.Helper()
	_ = p.stdin.Close()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit %d, want %d; stderr: %s", got, code, p.stderr)
	}
}

// events are the lines of status, by what happened.
func events(t *testing.T, stderr string) map[string]map[string]any {
	t.Helper()
	found := make(map[string]map[string]any)
	for line := range strings.Lines(stderr) {
		var e map[string]any
		if json.Unmarshal([]byte(line), &e) == nil {
			found[fmt.Sprint(e["event"])] = e
		}
	}
	return found
}

func TestLock(t *testing.T) {
	for name, s := range lockStores(t) {
		t.Run(name, func(t *testing.T) {
			s.t = t
			t.Run("runs the command with a rising fencing token, and ends as it does", func(t *testing.T) { lockRuns(t, s) })
			t.Run("is obtained by one at a time", func(t *testing.T) { lockConflicts(t, s) })
			t.Run("passes signals on", func(t *testing.T) { lockPassesSignals(t, s) })
			t.Run("that is lost stops the command", func(t *testing.T) { lockIsLost(t, s) })
			t.Run("that is lost stops what the command left behind", func(t *testing.T) { lockIsLostByAFamily(t, s) })
		})
	}
}

func lockRuns(t *testing.T, s lockStore) {
	var last uint64
	for range 2 {
		code, stdout, stderr := s.lock("", "k", "--", "sh", "-c", "echo $CACHEWRIGHT_FENCING_TOKEN; exit 7")
		token, err := strconv.ParseUint(strings.TrimSpace(stdout), 10, 64)
		if code != 7 || err != nil || token <= last {
			t.Errorf("exit %d, token %q after %d; stderr: %s", code, stdout, last, stderr)
		}
		last = token
		seen := events(t, stderr)
		if fence := seen["acquired"]["fence"]; fence != float64(token) || seen["released"]["exit"] != float64(7) {
			t.Errorf("status %v, token %d", seen, token)
		}
	}
	for args, want := range map[string]int{
		"k -- no-such-command":          127,
		"k -- /":                        126,
		"k -- sh -c exit":               0,
		"k -- sh -c kill\t-9\t$$":       128 + 9,
		"k --strategy lease -- true":    0,
		"k --wait 1s --lease 5s -- cat": 0,
	} {
		words := strings.Fields(args)
		if i := strings.Index(args, "sh -c "); i >= 0 {
			words = append(strings.Fields(args[:i]), "sh", "-c", strings.ReplaceAll(args[i+len("sh -c "):], "\t", " "))
		}
		if code, _, stderr := s.lock("", words...); code != want {
			t.Errorf("lock %s: exit %d, want %d; stderr: %s", args, code, want, stderr)
		}
	}
	code, stdout, _ := s.lock("", "k", "--strategy", "lease", "--", "sh", "-c", "echo ${CACHEWRIGHT_FENCING_TOKEN-none}")
	if code != 0 || stdout != "none\n" {
		t.Errorf("under lease: exit %d, fencing token %q", code, stdout)
	}
}

func lockConflicts(t *testing.T, s lockStore) {
	holder := s.start(t, "k", "--", "sh", "-c", "echo inside; cat")
	for want, flags := range map[int][]string{exitConflict: nil, 9: {"--conflict-code", "9"}} {
		code, stdout, stderr := s.lock("", append(append([]string{"--wait", "0s"}, flags...), "k", "--", "echo", "ran")...)
		if code != want || stdout != "" || events(t, stderr)["conflict"] == nil {
			t.Errorf("while it is held: exit %d, stdout %q, stderr %s; want exit %d", code, stdout, stderr, want)
		}
	}
	holder.ends(0)
	if code, stdout, stderr := s.lock("", "--wait", "0s", "k", "--", "echo", "ran"); code != 0 || stdout != "ran\n" {
		t.Errorf("after the holder: exit %d, %q, %s", code, stdout, stderr)
	}
}

// aWhile is a command's work, which ends by itself should nothing stop it.
const aWhile = `i=0; while [ $i -lt 1000 ]; do sleep 0.02; i=$((i+1)); done`

func lockPassesSignals(t *testing.T, s lockStore) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1} {
		p := s.start(t, "k", "--", "sh", "-c", `trap 'echo heard; exit 5' TERM INT HUP USR1; echo inside; `+aWhile+``)
		if err := p.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		p.says("heard")
		p.ends(5)
		if seen := events(t, p.stderr.String()); seen["released"] == nil {
			t.Errorf("%v: the lock was not released: %s", sig, p.stderr)
		}
	}
	if code, _, stderr := s.lock("", "--wait", "0s", "k", "--", "true"); code != 0 {
		t.Errorf("after the signals: exit %d, %s", code, stderr)
	}
}

func lockIsLost(t *testing.T, s lockStore) {
	for how, script := range map[string]string{
		"by TERM":                                `trap 'echo stopped; exit 0' TERM; echo inside; ` + aWhile + ``,
		"by KILL":                                `trap 'echo stopped' TERM; echo inside; ` + aWhile + ``,
		"by TERM after signals that it outlives": `trap 'echo heard' INT HUP; trap 'echo stopped; exit 0' TERM; echo inside; ` + aWhile + ``,
	} {
		key := "lost-" + how[3:]
		p := s.start(t, "--lease", "1500ms", key, "--", "sh", "-c", script)
		if strings.Contains(script, "heard") {
			for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
				if err := p.cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				p.says("heard")
			}
		}
		s.steal(t, key)
		p.says("stopped")
		p.ends(exitLost)
		if seen := events(t, p.stderr.String()); seen["lost"] == nil || seen["released"] != nil {
			t.Errorf("%s: status %v", how, seen)
		}
	}
}

// What the command left in the background goes too.
func lockIsLostByAFamily(t *testing.T, s lockStore) {
	child := filepath.Join(t.TempDir(), "pid")
	p := s.start(t, "--lease", "1500ms", "family", "--", "sh", "-c",
		`(trap '' TERM; `+aWhile+`) & echo $! > '`+child+`'; trap 'echo stopped; exit 0' TERM; echo inside; wait`)
	s.steal(t, "family")
	p.says("stopped")
	p.ends(exitLost)
	pid, err := os.ReadFile(child)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat") // on Linux
	if err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the command's child still runs: %s", stat)
	}
}

func TestLockRefusesWhatReachesOneProcessOnly(t *testing.T) {
	newShell(t, testConfig).play([]step{
		{args: "lock k --strategy local -- true", code: exitUsage, stderr: "strategy local reaches one process"},
		{args: "--store memory lock k -- true", code: exitUsage, stderr: "take another store"},
		{args: "lock k true", code: exitUsage, stderr: "one KEY stands before --"},
		{args: "lock k other -- true", code: exitUsage, stderr: "one KEY stands before --"},
		{args: "lock k", code: exitUsage, stderr: "usage: cachewright lock KEY -- COMMAND"},
		{args: "lock k --wait -1s -- true", code: exitUsage, stderr: "negative"},
		{args: "lock k --conflict-code 256 -- true", code: exitUsage, stderr: "give 0 to 255"},
		{args: "lock k --conflict-code -1 -- true", code: exitUsage, stderr: "give 0 to 255"},
		{args: "lock k --lease 1ms -- true", code: exitUsage, stderr: "is not between"},
		{args: "lock k --lease 25h -- true", code: exitUsage, stderr: "is not between"},
		{args: "lock k --timeout 1s --wait 1s -- true", code: exitUsage, stderr: "give one"},
		{args: "lock k --strategy lease --wait 1s -- true", code: exitUsage, stderr: "belong to the strategy exclusive"},
	})
}

func TestLockTakesTheTimesOfTheLockBlock(t *testing.T) {
	s := newShell(t, `default: jobs
stores:
  jobs: {driver: file, path: ./jobs, lock: {strategy: exclusive, wait: 0s, lease: 1500ms}}
  limited: {driver: file, path: ./jobs, lock: {strategy: exclusive, timeout: 0s}}
  leased: {driver: file, path: ./jobs, lock: {strategy: lease, timeout: 0s}}
  patient: {driver: file, path: ./jobs, lock: {strategy: exclusive, lease: 5s}}
  local: {driver: file, path: ./jobs, lock: {strategy: local, timeout: 0s}}
  hasty: {driver: file, path: ./jobs,
    lock: {strategy: exclusive,
      lease: 1ms}}
`)
	holder := lockStore{s, "patient", nil}.start(t, "k", "--", "sh", "-c", "echo inside; cat")
	steps := []step{
		{args: "lock k -- echo ran", code: exitConflict, stderr: "wait"},
		{args: "--store limited lock k -- echo ran", code: exitConflict, stderr: "wait"},
		{args: "--store local lock k --strategy exclusive -- echo ran", code: exitConflict, stderr: "wait"},
		{args: "--store patient lock k --timeout 0s -- echo ran", code: exitConflict, stderr: "wait"},
		{args: "--store jobs lock k --strategy lease --timeout 1s -- echo ran", stdout: "ran\n"},
		{args: "--store leased lock k -- echo ran", stdout: "ran\n"}, // another strategy, another lock
		{args: "--store leased lock k --strategy exclusive -- echo ran", code: exitConflict, stderr: "wait"},
		{args: "--store local lock k -- echo ran", code: exitUsage, stderr: "the lock block of store local says local"},
		{args: "--store hasty lock k -- echo ran", code: exitUsage, stderr: "config.yaml:10: stores.hasty.lock.lease: "},
	}
	s.play(steps)
	holder.ends(0)
	code, stdout, _ := s.run("", "doctor")
	if want := "config.yaml:10: stores.hasty.lock.lease: "; code != exitUsage || strings.Count(stdout, want) != 1 || strings.Count(stdout, "fail  ") != 1 {
		t.Errorf("doctor: exit %d, want one line that fails with %q, in\n%s", code, want, stdout)
	}
}

func TestASignalEndsTheWaitForALock(t *testing.T) {
	s := newShell(t, testConfig)
	holder := lockStore{s, "file", nil}.start(t, "k", "--", "sh", "-c", "echo inside; cat")
	defer holder.ends(0)
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		ctx, stop := untilSignal(t.Context(), sig)
		var out, errs bytes.Buffer
		ended := make(chan int, 1)
		go func() {
			ended <- run(ctx, []string{"-c", filepath.Join(s.dir, "config.yaml"), "lock", "k", "--", "echo", "ran"}, strings.NewReader(""), &out, &errs)
		}()
		select {
		case code := <-ended:
			t.Fatalf("exit %d beside the holder: %s", code, &errs)
		case <-time.After(200 * time.Millisecond): // it waits, or is on its way there
		}
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		if code := <-ended; code != want || out.Len() > 0 || !strings.Contains(errs.String(), sig.String()) {
			t.Errorf("%v: exit %d, want %d; stdout %q, stderr %s", sig, code, want, &out, &errs)
		}
		stop()
	}
}

func TestStoresShowsWhatLocksAre(t *testing.T) {
	s := newShell(t, `default: file
stores:
  file: {driver: file, path: ./entries}
  jobs: {driver: file, path: ./jobs, lock: {strategy: exclusive, lease: 5s}}
  memory: {driver: memory}
`)
	code, stdout, stderr := s.run("", "stores")
	for _, want := range []string{
		`file +local +process +- +owner only +limits the wait; 0 is one attempt`,
		`jobs +exclusive +host +5s, renewed +owner only +limits the wait; 0 is one attempt`,
		`memory +redlock +process +10s +owner only +is lease and wait, .*`,
	} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(stdout) {
			t.Errorf("exit %d, no line %q in\n%s%s", code, want, stdout, stderr)
		}
	}
}
