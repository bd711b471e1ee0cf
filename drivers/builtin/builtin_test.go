package builtin_test

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	linked "github.com/cachewright/cachewright/drivers/builtin"
	"github.com/cachewright/cachewright/internal/builtin"
)

const (
	cookie = "CACHEWRIGHT_DRIVER_COOKIE=1f0f2b8e-cachewright-driver"
	become = "CACHEWRIGHT_BUILTIN="
)

func TestMain(m *testing.M) {
	linked.Main() // does nothing here: the import has done it
	if os.Getenv("BUILTIN_TEST_CHILD") != "" {
		os.Stdout.WriteString("main runs\n")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTheImportLinksDriversThatAreWellDefined(t *testing.T) {
	t.Parallel()
	names := builtin.Names()
	for _, name := range []string{"database", "file", "memcached", "memory", "redis"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not among %q", name, names)
		}
	}
	for _, name := range names {
		d, ok := builtin.Lookup(name)
		if !ok || d.Name != name || d.Err() != nil || d.Version == "" {
			t.Errorf("%s: found %v, named %q, version %q, %v", name, ok, d.Name, d.Version, d.Err())
		}
	}
}

func TestWhatAProcessBecomes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		env    []string
		stdin  string
		says   string
		status int
	}{
		"the program, when nobody asks":             {nil, "", "main runs", 0},
		"the program, without the cookie":           {[]string{become + "memory"}, "", "main runs", 0},
		"a driver that wants its host's greeting":   {[]string{cookie, become + "memory"}, "", "only a host starts a driver", 1},
		"a driver that knows its host by the words": {[]string{cookie, become + "file"}, "hello\n", "not a host's greeting", 1},
		"nothing, for a driver that isn't there":    {[]string{cookie, become + "acme"}, "", `no driver "acme" is built into this program`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self)
			cmd.Env = append(append(os.Environ(), "BUILTIN_TEST_CHILD=1"), test.env...)
			cmd.Stdin = strings.NewReader(test.stdin)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if !strings.Contains(string(out), test.says) || cmd.ProcessState.ExitCode() != test.status {
				t.Errorf("status %d, printed:\n%s", cmd.ProcessState.ExitCode(), out)
			}
		})
	}
}
