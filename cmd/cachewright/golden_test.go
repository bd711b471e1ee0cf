package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares what was printed with what was printed before.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if got != string(want) {
		t.Errorf("%s: printed\n%s\nwant\n%s\ngo test -update takes it over", path, got, want)
	}
}

// helped are the commands whose help is this program's own.
func helped() []*cobra.Command {
	root := newApp(nil, nil, nil).root()
	var own []*cobra.Command
	for _, cmd := range append([]*cobra.Command{root}, allCommands(root)...) {
		if !cmd.Hidden && cmd.Name() != "help" && cmd.Name() != "completion" {
			own = append(own, cmd)
		}
	}
	return own
}

func TestTheHelpOfEveryCommandIsAsItWas(t *testing.T) {
	for _, cmd := range helped() {
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code != exitYes || errs.Len() > 0 {
			t.Errorf("%v: exit %d, %s", args, code, errs.String())
		}
		golden(t, "help/"+strings.ReplaceAll(cmd.CommandPath(), " ", "-"), out.String())
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, cmd := range helped() {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || len(cmd.Short) > 90 {
			t.Errorf("%s: %q is no short line", cmd.CommandPath(), cmd.Short)
		}
		for _, line := range strings.Split(cmd.Long+"\n"+cmd.Example, "\n") {
			if len(line) > 120 {
				t.Errorf("%s: a line of its help has %d bytes: %s", cmd.CommandPath(), len(line), line)
			}
		}
		if help := cmd.UsageString(); strings.Contains(help, "(default )") {
			t.Errorf("%s: a flag has an empty default:\n%s", cmd.CommandPath(), help)
		}
	}
}

// volatile is what differs from run to run.
var volatile = []struct {
	what *regexp.Regexp
	is   string
}{
	{regexp.MustCompile(`[^\s"]+ go1[0-9.]*`), "VERSION"},
	{regexp.MustCompile(`pid \d+`), "pid N"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(µs|ms)\b`), "TIME"},
	{regexp.MustCompile(`(ready(?:\x1b\[0m)? +(?:fast|grpc) +)\d+`), "${1}PID"},
	{regexp.MustCompile(`"(pid|ttl_ms)":\d+`), `"$1":N`},
	{regexp.MustCompile(`(disk\.\w+) \S+`), "$1 N"},
	{regexp.MustCompile(`(entries\.bytes|bytes) \d+`), "$1 N"},
	{regexp.MustCompile(`linux/amd64|linux/arm64|darwin/arm64`), "OS/ARCH"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "DIGEST"},
	{regexp.MustCompile(` {2,}(\S)`), "  $1"}, // columns as wide as what varies
}

func (s shell) stable(text string) string {
	text = strings.ReplaceAll(text, s.dir, "DIR")
	for _, v := range volatile {
		text = v.what.ReplaceAllString(text, v.is)
	}
	return text
}

// transcript plays command lines as a terminal would show them.
func (s shell) transcript(lines ...string) string {
	s.t.Helper()
	var b strings.Builder
	for _, line := range lines {
		line, stdin, _ := strings.Cut(line, " <<< ")
		code, stdout, stderr := s.run(stdin, strings.Fields(strings.ReplaceAll(line, "DIR", s.dir))...)
		fmt.Fprintf(&b, "$ cachewright %s\n%s%s[exit %d]\n\n", line, s.stable(stdout), s.stable(stderr), code)
	}
	return b.String()
}

const tidyConfig = `default: file
prefix: app
stores:
  file: {driver: file, path: ./entries, timeout: 2s}
  memory: {driver: memory, max_bytes: 1MiB}
  redis: {driver: redis, addr: "127.0.0.1:1", password: hunter2}
`

func TestASessionLooksAsItDid(t *testing.T) {
	t.Parallel()
	s := newShell(t, tidyConfig)
	golden(t, "entries", s.transcript(
		"get k", `set k {"a":1} --ttl 1h`, "get k", "get k --json", "get-many k none", "has k", "has none --json", "add k 2", "replace none 1",
		"set text hello", `set raw - --raw <<< bytes`, "get raw", "get raw --raw", "incr n 5", "incr k", "decr n --json", "ttl n", "ttl none",
		"touch n --ttl 1h", "keys k", "delete k none", "pull n", "pull n", "clear", "export",
		`import <<< {"key":"a","value":[1,2],"ttl_ms":60000}`, `import --add --json <<< {"key":"a","value":1}`, `import <<< {"key":"a"}`,
		"export a", "export a --json", "clear --yes", "export",
	))
}

func TestTheStoresLookAsTheyDid(t *testing.T) {
	t.Parallel()
	s := newShell(t, tidyConfig)
	golden(t, "stores", s.transcript("stores", "stores --json", "drivers", "drivers --color always", "-s redis get k", "-s none get k"))
}

func TestTheConfigurationLooksAsItDid(t *testing.T) {
	t.Parallel()
	s := newShell(t, tidyConfig)
	golden(t, "config", s.transcript("config", "config check", "config check --json", "config show", "config show -s redis --json", "config show -s none", "config chekc", "init"))
	golden(t, "schema", s.transcript("config schema"))
	bad := newShell(t, "default: nope\nprefix: a b\nstores:\n  file: {driver: file, pth: x, timeout: 5}\n  redis: {driver: redsi}\n")
	golden(t, "config-bad", bad.transcript("config check", "config check --json", "config show", "doctor", "get k"))
}

func TestACommandIsShownWithItsReferences(t *testing.T) {
	t.Setenv("ACME_TOKEN", "hunter2")
	t.Setenv("CACHEWRIGHT_DRIVERS__OTHER__COMMAND", "./no-such-driver,--token=hunter2")
	s := newShell(t, `default: main
drivers:
  acme: {run: command, command: [./no-such-driver, -v, "--token=${ACME_TOKEN}"], env: {TOKEN: "${ACME_TOKEN}"}}
  other: {run: command, command: [./no-such-driver]}
stores:
  main: {driver: acme}
  other: {driver: other}
`)
	golden(t, "command", s.transcript("config show", "config show -s main --json"))
	if text := s.transcript("config show --json", "get k", "-s other get k", "doctor"); strings.Contains(text, "hunter2") {
		t.Errorf("a secret is shown:\n%s", text)
	}
}

func TestDoctorLooksAsItDid(t *testing.T) {
	t.Parallel()
	s := newShell(t, tidyConfig)
	golden(t, "doctor", s.transcript("doctor -s file --write", "doctor -s redis", "doctor -s redis --json", "doctor -s none", "doctor --color always -s memory"))
}

func TestMistakesAreAnsweredAsTheyWere(t *testing.T) {
	t.Parallel()
	s := newShell(t, tidyConfig)
	golden(t, "mistakes", s.transcript(
		"", "gett k", "get", "get a b", "get k --nope", "set k -5", "incr k 1.5", "set k 1 --ttl 5", "set k 1 --ttl 0s", "get k --timeout 0s", "get k --timeout 1ns",
		"get k --color sometimes", "stores --watch 1ms", "stores --watch soon", "stores 5s", "import /no/such/file", "import --add --replace", "man", "bench", "lock k",
		"get-many - <<< \"broken",
	))
}

func TestTheRestLooksAsItDid(t *testing.T) {
	t.Parallel()
	s := shell{t, t.TempDir()}
	golden(t, "rest", s.transcript(
		"get k", "version", "version --json", "init", "init", "init --force --json", "config check", "man DIR/man1", "man DIR/man1 --json",
		"bench locks --processes 0", "demo --dir /no/such/folder",
	))
}
