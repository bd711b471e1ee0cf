package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const testConfig = `default: file
prefix: app
drivers:
  missing: {run: command, command: [./no-such-driver]}
stores:
  file: {driver: file, path: ./entries}
  raw: {driver: file, path: ./entries, prefix: raw, codec: raw}
  memory: {driver: memory}
  redis: {driver: redis, addr: "127.0.0.1:1"}
  broken: {driver: missing}
`

// A shell runs the program in a folder with a configuration.
type shell struct {
	t   *testing.T
	dir string
}

func newShell(t *testing.T, config string) shell {
	t.Helper()
	s := shell{t, t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.dir, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s shell) run(stdin string, args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"--config", filepath.Join(s.dir, "config.yaml")}, args...)
	code = run(s.t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// A step is one command and what it must do. stderr is a part of it; empty
// means that nothing may be said.
type step struct {
	args   string // split at blanks
	stdin  string
	code   int
	stdout string
	stderr string
}

func (s shell) play(steps []step) {
	s.t.Helper()
	for _, step := range steps {
		code, stdout, stderr := s.run(step.stdin, strings.Fields(step.args)...)
		if code != step.code || stdout != step.stdout {
			s.t.Errorf("cachewright %s: exit %d, stdout %q, want %d and %q; stderr: %s", step.args, code, stdout, step.code, step.stdout, stderr)
		}
		if !strings.Contains(stderr, step.stderr) || step.stderr == "" && stderr != "" {
			s.t.Errorf("cachewright %s: stderr %q, want %q", step.args, stderr, step.stderr)
		}
	}
}

func TestValuesGoInAndOut(t *testing.T) {
	newShell(t, testConfig).play([]step{
		{args: "get k", code: exitNo},
		{args: `set k {"a":[1,null]} --ttl 1h`},
		{args: "get k", stdout: `{"a":[1,null]}` + "\n"},
		{args: "--json get k", stdout: `{"key":"k","found":true,"value":{"a":[1,null]}}` + "\n"},
		{args: "--json get absent", code: exitNo, stdout: `{"key":"absent","found":false}` + "\n"},
		{args: "set null null"},
		{args: "get null", stdout: "null\n"},
		{args: "--json get null", stdout: `{"key":"null","found":true,"value":null}` + "\n"},
		{args: "set k -", stdin: ` "from stdin" `},
		{args: "get k", stdout: "\"from stdin\"\n"},
		{args: "set bytes - --raw", stdin: "\x00\xff\n"},
		{args: "get bytes --raw", stdout: "\x00\xff\n"},
		{args: "get bytes", code: exitUsage, stderr: "--raw prints bytes"},
		{args: "--json get bytes", stdout: `{"key":"bytes","found":true,"base64":"AP8K"}` + "\n"},
		{args: "get-many k absent null", code: exitNo, stdout: `{"key":"k","found":true,"value":"from stdin"}` + "\n" + `{"key":"absent","found":false}` + "\n" + `{"key":"null","found":true,"value":null}` + "\n"},
		{args: "has null", stdout: "true\n"},
		{args: "has absent", code: exitNo, stdout: "false\n"},
		{args: "pull null", stdout: "null\n"},
		{args: "pull null", code: exitNo},
		{args: "set n -- -5"},
		{args: "get n", stdout: "-5\n"},
	})
}

func TestWritesThatAskFirst(t *testing.T) {
	newShell(t, testConfig).play([]step{
		{args: "replace k 1", code: exitNo, stdout: "false\n"},
		{args: "add k 1", stdout: "true\n"},
		{args: "add k 2", code: exitNo, stdout: "false\n"},
		{args: "replace k 3 --ttl 1h", stdout: "true\n"},
		{args: "--json add k 2", code: exitNo, stdout: `{"added":false}` + "\n"},
		{args: "get k", stdout: "3\n"},
		{args: "delete k absent", stdout: "1\n"},
		{args: "delete k", code: exitNo, stdout: "0\n"},
	})
}

func TestCounters(t *testing.T) {
	newShell(t, testConfig).play([]step{
		{args: "incr n", stdout: "1\n"},
		{args: "incr n 10 --ttl 1h", stdout: "11\n"},
		{args: "decr n", stdout: "10\n"},
		{args: "incr n -- -20", stdout: "-10\n"},
		{args: "--json decr n 5", stdout: `{"value":-15}` + "\n"},
		{args: "incr n 1.5", code: exitUsage, stderr: `DELTA "1.5" is not a whole number`},
		{args: "incr n -5", code: exitUsage, stderr: "a value that starts with a minus follows --"},
		{args: `set n "text"`},
		{args: "incr n", code: exitUsage, stderr: `increment "n" in store file (driver file): `},
		{args: "ttl n", stdout: "forever\n"},
	})
}

func TestExpiryAndKeys(t *testing.T) {
	s := newShell(t, testConfig)
	s.play([]step{
		{args: "ttl k", code: exitNo},
		{args: "touch k --ttl 1h", code: exitNo, stdout: "false\n"},
		{args: "set k 1"},
		{args: "touch k --ttl 2h", stdout: "true\n"},
		{args: "set other 1"},
		{args: "--store raw set k x --raw"},
		{args: "keys k", stdout: "k\n"},
		{args: "--json keys o", stdout: "\"other\"\n"},
		{args: "clear", code: exitUsage, stderr: "clear needs --yes"},
		{args: "clear --yes"},
		{args: "keys"},
		{args: "--store raw get k --raw", stdout: "x"},
		{args: "set k 1 --ttl 0s", code: exitUsage, stderr: "a time to live above zero"},
		{args: "set k 1 --ttl 5", code: exitUsage, stderr: "a duration with a unit, such as 90s"},
	})
	s.play([]step{{args: "set k 1 --ttl 1h"}})
	if _, stdout, _ := s.run("", "ttl", "k"); !regexp.MustCompile(`^(59m5\d|1h0m0)[.\ds]+\n$`).MatchString(stdout) {
		t.Errorf("ttl printed %q", stdout)
	}
}

func TestWrongUseIsExplained(t *testing.T) {
	newShell(t, testConfig).play([]step{
		{args: "", code: exitUsage, stderr: "a command is missing; cachewright --help lists them"},
		{args: "gett k", code: exitUsage, stderr: `there is no command "gett"; did you mean get`},
		{args: "help gett", code: exitUsage, stderr: `there is no command "gett"; did you mean get`},
		{args: "help config chow", code: exitUsage, stderr: `there is no command "chow"; did you mean show`},
		{args: "--nope", code: exitUsage, stderr: "unknown flag: --nope; cachewright --help lists the flags"},
		{args: "get", code: exitUsage, stderr: "usage: cachewright get KEY"},
		{args: "get k --nope", code: exitUsage, stderr: "unknown flag: --nope"},
		{args: "set k hello", code: exitUsage, stderr: `the value hello is not JSON; write '"hello"' for text, or give --raw`},
		{args: "set k -", stdin: "{", code: exitUsage, stderr: "what stdin gave is not JSON"},
		{args: "--store nope get k", code: exitUsage, stderr: `unknown store "nope"; the configuration has broken, file, memory, raw, redis`},
	})
	empty := shell{t, t.TempDir()}
	if code, _, stderr := empty.run("", "get", "k"); code != exitUsage || !strings.Contains(stderr, "config.yaml") {
		t.Errorf("without a configuration: exit %d, %s", code, stderr)
	}
	newShell(t, "default: file\nstores:\n  file: {driver: file, pth: x, timeout: 5}\n").play([]step{
		{args: "get k", code: exitUsage, stderr: "config.yaml:3: stores.file."},
	})
	newShell(t, "default: file\nstores:\n  file:\n    driver: file\n    path: x\n    timeout: 1d\n").play([]step{
		{args: "get k", code: exitUsage, stderr: "config.yaml:6: stores.file.timeout: wants a duration in the units h, m, s and ms, such as 1h30m; a day is 24h"},
	})
}

func TestAStoreThatFailsDisturbsNoOther(t *testing.T) {
	s := newShell(t, testConfig)
	s.play([]step{
		{args: "--store broken get k", code: exitFailed, stderr: "no-such-driver"},
		{args: "--store memory set k 1"},
		{args: "set k 1"},
	})
	code, stdout, stderr := s.run("", "stores")
	if code != exitYes || !regexp.MustCompile(`(?m)^file \* +file +ready`).MatchString(stdout) || !regexp.MustCompile(`(?m)^broken +missing +failed`).MatchString(stdout) || !strings.Contains(stderr, "broken: ") {
		t.Errorf("stores: exit %d\n%s%s", code, stdout, stderr)
	}
	if _, stdout, _ := s.run("", "--json", "stores"); !json.Valid([]byte(stdout)) {
		t.Errorf("stores --json: %s", stdout)
	}
	code, stdout, _ = s.run("", "drivers")
	if code != exitYes || !regexp.MustCompile(`(?m)^memory +\S+ +builtin +ready +fast +\d+ +memory`).MatchString(stdout) {
		t.Errorf("drivers: exit %d\n%s", code, stdout)
	}
	code, stdout, _ = s.run("", "doctor")
	if code != exitFailed || !strings.Contains(stdout, "ok    store file: answers in ") || !strings.Contains(stdout, "fail  driver missing: ") {
		t.Errorf("doctor: exit %d\n%s", code, stdout)
	}
	unused := newShell(t, "default: memory\ndrivers:\n  unused: {run: command, command: [./no-such-driver]}\nstores:\n  memory: {driver: memory}\n")
	if code, stdout, _ := unused.run("", "doctor"); code != exitFailed || !strings.Contains(stdout, "fail  driver unused: ") {
		t.Errorf("doctor with a broken driver that no store uses: exit %d\n%s", code, stdout)
	}
	well := newShell(t, "default: memory\nstores:\n  memory: {driver: memory}\n")
	if code, stdout, stderr := well.run("", "doctor"); code != exitYes {
		t.Errorf("doctor where all is well: exit %d\n%s%s", code, stdout, stderr)
	}
}

func TestHelpAndVersionNeedNoConfiguration(t *testing.T) {
	s := shell{t, t.TempDir()}
	for _, args := range []string{"version", "--version", "--help", "help get", "help config show", "help", "completion bash"} {
		if code, stdout, stderr := s.run("", strings.Fields(args)...); code != exitYes || stdout == "" || stderr != "" {
			t.Errorf("cachewright %s: exit %d, %q, %q", args, code, stdout, stderr)
		}
	}
}

func TestTheDemonstrationKeepsItsPromises(t *testing.T) {
	s := shell{t, t.TempDir()}
	code, stdout, stderr := s.run("", "demo", "--dir", ".")
	for _, want := range []string{"scans of the tree: 1", "of which 0 failed", "runs again as process"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the demonstration does not say %q", want)
		}
	}
	if code != exitYes {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if code, _, stderr := s.run("", "demo", "--dir", "/no/such/folder"); code != exitUsage || !strings.Contains(stderr, "/no/such/folder") {
		t.Errorf("without a tree: exit %d, %s", code, stderr)
	}
}
