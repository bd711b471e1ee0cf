package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// requireVariable makes a missing program a failure.
const requireVariable = "CACHEWRIGHT_REQUIRE_SERVERS"

// A program is something to start, and where to get it.
type program struct {
	name    string
	pkg     string   // of Debian and Ubuntu
	formula string   // of Homebrew
	homes   []string // globs of folders outside of most people's PATH
}

var (
	redisServer = program{
		name: "redis-server", pkg: "redis-server", formula: "redis",
	}
	memcached = program{
		name: "memcached", pkg: "memcached", formula: "memcached",
	}
	initdb = program{
		name: "initdb", pkg: "postgresql", formula: "postgresql",
		homes: []string{
			"/usr/lib/postgresql/*/bin",
			"/opt/homebrew/opt/postgresql*/bin",
			"/usr/local/opt/postgresql*/bin",
		},
	}
	pgbouncer = program{
		name: "pgbouncer", pkg: "pgbouncer", formula: "pgbouncer",
		homes: []string{"/usr/sbin", "/usr/local/sbin"},
	}
)

// find returns the program's path, or ends the test.
func (p program) find(t testing.TB) string {
	t.Helper()
	if path, ok := p.look(); ok {
		return path
	}
	p.missing(t)
	return ""
}

func (p program) look() (string, bool) {
	if path, err := exec.LookPath(p.name); err == nil {
		return path, true
	}
	for _, home := range p.homes {
		found, _ := filepath.Glob(filepath.Join(home, p.name))
		slices.SortFunc(found, newest)
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
				return path, true
			}
		}
	}
	return "", false
}

// newest sorts .../postgresql/16/bin/initdb before .../postgresql/9/bin/initdb.
func newest(a, b string) int {
	if len(a) != len(b) {
		return len(b) - len(a)
	}
	return strings.Compare(b, a)
}

func (p program) missing(t testing.TB) {
	t.Helper()
	const text = "%s is not installed, and this test needs it: run scripts/install-programs, " +
		"or install the package %s (Homebrew: %s)"
	if os.Getenv(requireVariable) == "1" {
		t.Fatalf(text, p.name, p.pkg, p.formula)
	}
	NotTested(t, text+"; "+requireVariable+"=1 makes this a failure", p.name, p.pkg, p.formula)
}

// NotTested skips a test that this machine can't make, and says so where nobody
// asked. With CI in the environment nothing may be left out: the test fails.
func NotTested(t testing.TB, why string, args ...any) {
	t.Helper()
	why = fmt.Sprintf(why, args...)
	if os.Getenv("CI") != "" {
		t.Fatalf("this can't be tested here: %s", why)
	}
	fmt.Fprintf(os.Stderr, "NOT TESTED: %s: %s\n", t.Name(), why)
	t.Skipf("NOT TESTED: %s", why)
}
