package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The Go blocks of writing-a-driver.md are a whole driver and its test: they
// are built as a module of their own, and pass the suite.
func TestTheDriverOfThePagePassesTheSuite(t *testing.T) {
	code := blocks(read(t, "writing-a-driver.md"), "go")
	if len(code) != 2 {
		t.Fatalf("writing-a-driver.md has %d Go blocks; want main.go and main_test.go", len(code))
	}
	folder := driverModule(t)
	for i, name := range []string{"main.go", "main_test.go"} {
		write(t, filepath.Join(folder, name), code[i])
		if !strings.HasSuffix(read(t, filepath.Join("../examples/driver", name)), code[i]) {
			t.Errorf("the page's %s is not that of examples/driver", name)
		}
	}
	test := exec.CommandContext(t.Context(), "go", "test", "-v", ".")
	test.Dir, test.Env = folder, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	out, err := test.CombinedOutput()
	if err != nil {
		t.Fatalf("go test: %v\n%s", err, out)
	}
	for _, ran := range []string{"direct/values/round-trip", "wire/ttl/expires", "child/life/volatile"} {
		if !strings.Contains(string(out), "--- PASS: TestConformance/"+ran+" ") {
			t.Errorf("%s has not run", ran)
		}
	}
}

// driverModule is a folder with the go.mod of examples/driver, which finds this
// module from there.
func driverModule(t *testing.T) string {
	t.Helper()
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	module := strings.Replace(read(t, "../examples/driver/go.mod"), "=> ../..", "=> "+here, 1)
	write(t, filepath.Join(folder, "go.mod"), module)
	write(t, filepath.Join(folder, "go.sum"), read(t, "../examples/driver/go.sum"))
	return folder
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
