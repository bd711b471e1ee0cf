package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// diagnose runs doctor and gives its lines that are not ok.
func (s shell) diagnose(args ...string) (code int, lines []string) {
	s.t.Helper()
	code, out, _ := s.run("", append([]string{"doctor"}, args...)...)
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "warn") || strings.HasPrefix(line, "fail") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return code, lines
}

func TestDoctorKnowsWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	s := newShell(t, testConfig)
	for args, want := range map[string]int{"-s file": exitYes, "-s memory --write": exitYes, "-s redis": exitFailed, "-s broken": exitFailed, "-s none": exitUsage, "": exitFailed} {
		if code, lines := s.diagnose(strings.Fields(args)...); code != want {
			t.Errorf("doctor %s: exit %d, want %d: %q", args, code, want, lines)
		}
	}
	bad := newShell(t, "default: file\nstores:\n  file: {driver: file}\n  other: {driver: nothing}\n")
	code, lines := bad.diagnose()
	if code != exitUsage || len(lines) != 2 || !strings.Contains(lines[0], ":3: stores.file.path: ") || !strings.Contains(lines[1], ":4: stores.other.driver: ") {
		t.Errorf("exit %d, %q", code, lines)
	}
	code, out, _ := bad.run("", "doctor", "--json")
	var findings []finding
	if err := json.Unmarshal([]byte(out), &findings); err != nil || code != exitUsage || len(findings) != 2 {
		t.Errorf("exit %d, %v, %s", code, err, out)
	}
}

func TestDoctorLooksAtPermissions(t *testing.T) {
	t.Parallel()
	s := newShell(t, `default: file
stores:
  file: {driver: file, path: ./entries, dir_mode: "0777"}
  redis: {driver: redis, addr: "127.0.0.1:1", password: hunter2}
  other: {driver: redis, addr: "127.0.0.1:1", password: "${file:secret}"}
`)
	if err := os.WriteFile(filepath.Join(s.dir, "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.dir, "config.yaml")
	if _, lines := s.diagnose("-s", "file"); len(lines) != 0 {
		t.Errorf("a private file: %q", lines)
	}
	if err := os.Chmod(path, 0o646); err != nil {
		t.Fatal(err)
	}
	s.play([]step{{args: "set k 1"}}) // makes the folder
	code, lines := s.diagnose("-s", "file")
	all := strings.Join(lines, "\n")
	for _, want := range []string{
		"warn  configuration: everybody on this machine may change " + path,
		"warn  configuration: " + path + ":4: stores.redis.password stands in a file that everybody on this machine may read",
		"warn  store file: directory.mode 0777: everybody on this machine may replace entries",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("doctor doesn't say %q:\n%s", want, all)
		}
	}
	if code != exitYes || len(lines) != 3 || strings.Contains(all, "hunter2") {
		t.Errorf("exit %d, %q", code, lines)
	}
}

func TestDoctorFindsAFolderThatCanNotBeMade(t *testing.T) {
	t.Parallel()
	s := newShell(t, `default: file
stores:
  file: {driver: file, path: ./there/is/none}
  system: {driver: file, path: /proc/none/entries}
`)
	if code, lines := s.diagnose("-s", "file"); code != exitYes || len(lines) > 0 {
		t.Errorf("a folder that the first write makes: exit %d, %q", code, lines)
	}
	if left, err := os.ReadDir(s.dir); err != nil || len(left) != 1 {
		t.Errorf("doctor leaves %v, %v", left, err)
	}
	if os.Getuid() != 0 { // who may write to every folder, as far as the system says
		if code, lines := s.diagnose("-s", "system"); code != exitFailed || !strings.Contains(strings.Join(lines, "\n"), "can't make /proc/none/entries: this user may not write to /proc") {
			t.Errorf("a folder that nobody may make: exit %d, %q", code, lines)
		}
	}
	if code, lines := s.diagnose("-s", "system", "--write"); code != exitFailed {
		t.Errorf("a folder that nobody can make, tried: exit %d, %q", code, lines)
	}
}

func TestCreatable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	if err := errors.Join(os.Mkdir(closed, 0o500), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir: "", filepath.Join(dir, "a"): "", filepath.Join(dir, "a", "b", "c"): "", filepath.Join(dir, "file", "a"): "",
		filepath.Join(closed, "a", "b"): "this user may not write to " + closed,
	} {
		err := creatable(path)
		if want == "" && err != nil || os.Getuid() != 0 && want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("creatable(%s): %v; want %q in it", path, err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("it makes %v, %v", left, err)
	}
}

func TestAQuietDoctorSpeaksOfTroublesOnly(t *testing.T) {
	t.Parallel()
	s := newShell(t, testConfig)
	s.play([]step{
		{args: "doctor -q -s memory"},
		{args: "doctor --quiet -s memory --json", stdout: "[]\n"},
	})
	code, out, _ := s.run("", "doctor", "-q")
	if code != exitFailed || strings.Contains(out, "ok ") || !strings.Contains(out, "fail  store redis: ") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

func TestTheManualHasAPageForEveryCommand(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man1")
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	s := shell{t, t.TempDir()}
	if code, out, errs := s.run("", "man", folder); code != exitYes || !strings.HasPrefix(out, "wrote "+folder) || errs != "" {
		t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
	for _, cmd := range helped() {
		page, err := os.ReadFile(filepath.Join(folder, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		text := strings.ReplaceAll(string(page), "\\-", "-")
		if !strings.Contains(text, cmd.Short) || !strings.Contains(text, "Jan 1970") {
			t.Errorf("%s: the page lacks its line or its date:\n%s", cmd.CommandPath(), text)
		}
		for _, want := range []string{
			`.TH "` + strings.ToUpper(strings.ReplaceAll(cmd.CommandPath(), " ", "-")) + `" "1"`,
			".SH EXIT STATUS\n", ".SH ENVIRONMENT\n", "CACHEWRIGHT_CONFIG", ".SH FILES\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page lacks %s:\n%s", cmd.CommandPath(), want, text)
			}
		}
		if strings.Contains(text, "[=false]") {
			t.Errorf("%s: the page says of a switch that it is false", cmd.CommandPath())
		}
		if cmd.Flags().Lookup("timeout") != nil && !strings.Contains(text, "--timeout") {
			t.Errorf("%s: the page lacks --timeout", cmd.CommandPath())
		}
	}
	if code, _, errs := s.run("", "man", "/dev/null/x"); code != exitUsage || !strings.Contains(errs, "a folder that can be written to") {
		t.Errorf("exit %d, %q", code, errs)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if code, _, errs := s.run("", "man", folder); code != exitUsage || !strings.Contains(errs, "SOURCE_DATE_EPOCH") {
		t.Errorf("exit %d, %q", code, errs)
	}
}
