package main

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	cache "github.com/cachewright/cachewright/core"
)

const usageConfig = `default: file
stores:
  file: {driver: file, path: ./entries}
  small: {driver: memory, max_bytes: 64KiB, codec: raw}
  memory: {driver: memory}
  twice: {driver: memory, max_bytes: 1MiB, max_entries: 5}
  typo: {driver: memory, codec: jsn}
  own: {driver: memory, codec: series}
  lasting: {driver: file, path: ./lasting, default_ttl: 1h}
  down: {driver: redis, addr: "127.0.0.1:1", on_error: miss}
  flat: {driver: memcached, servers: ["127.0.0.1:1"]}
`

// What trying again does not mend has the exit code of a mistake.
func TestMistakesAreNoFailures(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := newShell(t, usageConfig)
	s.play([]step{
		{args: `set text "x"`},
		{args: "incr text", code: exitUsage, stderr: "value is not an integer"},
		{args: "set n 9223372036854775807"},
		{args: "incr n", code: exitUsage, stderr: "cachewright set gives it another start"},
		{args: "-s flat keys", code: exitUsage, stderr: "the store has no list of its keys"},
		{args: "-s small set k - --raw", stdin: strings.Repeat("x", 1<<20), code: exitUsage, stderr: "max_value"},
		{args: "lock k --strategy foo -- true", code: exitUsage, stderr: `there is no strategy "foo"; give exclusive, lease or redlock`},
		{args: "demo --keep", code: exitUsage, stderr: "--keep goes with --metrics"},
		{args: "demo --dir /no/such/folder", code: exitUsage, stderr: "--dir: /no/such/folder is not a directory"},
		{args: "demo --metrics=nowhere", code: exitUsage, stderr: "--metrics nowhere: give HOST:PORT"},
		{args: "demo --metrics nowhere", code: exitUsage, stderr: "--metrics nowhere: give HOST:PORT"},
		{args: "demo --metrics " + taken.Addr().String(), code: exitUsage, stderr: "address already in use"},
		{args: "demo nowhere", code: exitUsage, stderr: "usage: cachewright demo"},
		{args: "set k 1 --ttl 1d", code: exitUsage, stderr: "units are h, m, s and ms"},
		{args: "get k --timeout 1d", code: exitUsage, stderr: "units are h, m, s and ms"},
		{args: "lock k --wait 5 -- true", code: exitUsage, stderr: "units are h, m, s and ms"},
		{args: "lock k --strategy local -- true", code: exitUsage, stderr: "give exclusive, lease or redlock"},
		{args: "set k - ", stdin: "\"\xff\"", code: exitUsage, stderr: "not valid UTF-8"},
		{args: "-s twice get k", code: exitUsage, stderr: "config check --start"},
	})
}

// What is advised where a store lacks a strategy is a strategy that it has.
func TestAdviceOnLocksWorks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ operations, strategy, want string }{
		{"add lease renew-lease", "exclusive", ""},
		{"add", "redlock", ""},
		{"add", "exclusive", "give --strategy redlock"},
		{"lease", "exclusive", "give --strategy lease"},
		{"add lease", "exclusive", "give --strategy lease or redlock"},
		{"list", "lease", "take another store with -s"},
	} {
		err := carries(cache.Capabilities{Operations: strings.Fields(test.operations)}, test.strategy, "main")
		if test.want == "" && err != nil || test.want != "" && (exitCode(err) != exitUsage || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "local")) {
			t.Errorf("%s on a store with %s: %v; want %q", test.strategy, test.operations, err, test.want)
		}
	}
}

func TestTouchWithoutATTLEndsNoExpiry(t *testing.T) {
	t.Parallel()
	s := newShell(t, usageConfig)
	s.play([]step{
		{args: "set k 1 --ttl 1h"},
		{args: "touch k", code: exitUsage, stderr: "store file has no default_ttl; give --ttl"},
	})
	if _, left, _ := s.run("", "ttl", "k"); !strings.HasPrefix(left, "59m") {
		t.Errorf("after a touch that was refused, %s are left", left)
	}
	s.play([]step{
		{args: "touch k --ttl forever", stdout: "true\n"},
		{args: "ttl k", stdout: "forever\n"},
		{args: "-s lasting set k 1"},
		{args: "-s lasting touch k", stdout: "true\n"},
	})
}

// A store that does not answer has no key and lacks none.
func TestAnOutageIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := newShell(t, usageConfig)
	for _, line := range []string{"has k", "has k --json", "get k", "get k --json", "get-many k"} {
		code, out, _ := s.run("", append([]string{"-s", "down"}, strings.Fields(line)...)...)
		if code != exitFailed || out != "" {
			t.Errorf("%s: exit %d, %q", line, code, out)
		}
	}
}

func TestEveryCommandAnswersInJSON(t *testing.T) {
	t.Parallel()
	s := newShell(t, usageConfig)
	s.play([]step{
		{args: "--json set k 1", stdout: `{"stored":true}` + "\n"},
		{args: "--json ttl none", code: exitNo, stdout: `{"ttl":null}` + "\n"},
		{args: "--json ttl k", stdout: `{"ttl":"forever"}` + "\n"},
		{args: "--json clear --yes", stdout: `{"cleared":true}` + "\n"},
	})
	for line, want := range map[string]int{
		"--json -s down get k": exitFailed, "get --nope --json": exitUsage, "nope --json": exitUsage, "demo --json": exitUsage, "--json set k {": exitUsage,
	} {
		code, out, errs := s.run("", strings.Fields(line)...)
		var said complaint
		if err := json.Unmarshal([]byte(errs), &said); err != nil || code != want || said.Exit != want || said.Error == "" || out != "" {
			t.Errorf("%s: exit %d, %q, %q, %v", line, code, out, errs, err)
		}
	}
	if _, _, errs := s.run("", "get", "--nope", "--", "--json"); strings.HasPrefix(errs, "{") {
		t.Errorf("an argument is taken for a flag: %q", errs)
	}
}

func TestConfigCheckAsksTheDriversWhatTheyRefuse(t *testing.T) {
	t.Parallel()
	s := newShell(t, usageConfig+"  gone: {driver: acme}\n  lost: {driver: acme}\ndrivers:\n  acme: {run: command, command: [./no-such-driver]}\n")
	code, out, errs := s.run("", "config", "check")
	if code != exitYes || !strings.Contains(out, "note: stores.typo.codec: ") || !strings.Contains(out, "did you mean json?") {
		t.Errorf("a codec that may be a typo: exit %d, %s%s", code, out, errs)
	}
	if _, own, _ := strings.Cut(out, "stores.own.codec: "); !strings.Contains(own, "no series") || strings.Contains(own, "did you mean") {
		t.Errorf("a codec of an application's own: %s", out)
	}
	code, _, errs = s.run("", "config", "check", "--start")
	for _, want := range []string{
		"2 faults", "config.yaml:6: stores.twice: max_bytes and max_entries exclude each other",
		"config.yaml:15: drivers.acme.command: ", "no such file or directory", "next: mend it, then cachewright config check --start",
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("config check --start doesn't say %q:\n%s", want, errs)
		}
	}
	if code != exitUsage {
		t.Errorf("exit %d", code)
	}
}
