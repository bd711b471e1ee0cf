//go:build unix

package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatCanNotBeExecutedIsExplained(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	for name, test := range map[string]struct {
		command []string
		stage   Stage
		says    string
	}{
		"no command":              {nil, StagePrepare, "no command is configured"},
		"a missing file":          {[]string{filepath.Join(folder, "missing")}, StageExec, "there is no file"},
		"a name not in PATH":      {[]string{"cachewright-no-such-program"}, StagePrepare, "not an executable in PATH"},
		"a folder":                {[]string{folder}, StageExec, "is a folder"},
		"not executable":          {[]string{write("plain", "#!/bin/sh\n", 0o644)}, StageExec, "chmod +x"},
		"an empty file":           {[]string{write("empty", "", 0o755)}, StageExec, "is empty"},
		"a text":                  {[]string{write("text", "hello\n", 0o755)}, StageExec, "no program (a script needs"},
		"a missing interpreter":   {[]string{write("script", "#!/no/such/interpreter -x\n", 0o755)}, StageExec, `"/no/such/interpreter -x"`},
		"a program for Windows":   {[]string{write("windows", "MZ\x90\x00"+strings.Repeat("\x00", 100), 0o755)}, StageExec, "a Windows program"},
		"a program for macOS":     {[]string{write("macos", "\xcf\xfa\xed\xfe"+strings.Repeat("\x00", 100), 0o755)}, StageExec, "a macOS program"},
		"another architecture":    {[]string{write("foreign", foreignELF, 0o755)}, StageExec, "an ELF program for s390"},
		"a damaged program":       {[]string{write("damaged", "\x7fELF"+strings.Repeat("\xff", 100), 0o755)}, StageExec, "an ELF program that is damaged"},
		"a file in a plain file":  {[]string{filepath.Join(folder, "plain", "driver")}, StageExec, "not a directory"},
		"an impossible variable":  {[]string{"true"}, StagePrepare, "PLUGIN_X belongs to the handshake"},
		"an argument with a zero": {[]string{"true", "a\x00b"}, StageExec, "invalid argument"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := Spec{Name: "acme", Command: test.command}
			if name == "an impossible variable" {
				spec.Env = map[string]string{"PLUGIN_X": "1"}
			}
			_, err := newDriver(t, spec).Describe(guarded(t))
			var start *StartError
			if !errors.As(err, &start) || start.Stage != test.stage || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want one at %s that says %q", err, test.stage, test.says)
			}
		})
	}
}

// foreignELF is the header of a big-endian program for a mainframe.
var foreignELF = "\x7fELF\x02\x02\x01" + strings.Repeat("\x00", 9) +
	"\x00\x02\x00\x16\x00\x00\x00\x01" + strings.Repeat("\x00", 28) +
	"\x00\x40\x00\x38\x00\x00\x00\x40\x00\x00\x00\x00"

func TestABuiltInThatDoesNotStartPointsToThePackagesOfTheProgram(t *testing.T) {
	t.Parallel()
	for role, says := range map[string]string{
		"exits":           "APP_TOKEN is not set",
		"opens the cache": "this process is itself a built-in driver",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			d := newDriver(t, Spec{Name: "testmem", Builtin: true, Env: map[string]string{"HOST_TEST_BAD_INIT": role}})
			_, err := d.Describe(guarded(t))
			var start *StartError
			if !errors.As(err, &start) {
				t.Fatal(err)
			}
			for _, say := range []string{says, "init()", "run: command", "cachewright-driver-testmem"} {
				if !strings.Contains(err.Error(), say) {
					t.Errorf("%q is missing in: %v", say, err)
				}
			}
		})
	}
}

func TestAnUnknownBuiltInNamesThoseThatExist(t *testing.T) {
	t.Parallel()
	_, err := newDriver(t, Spec{Name: "redis", Builtin: true}).Describe(guarded(t))
	if err == nil || !strings.Contains(err.Error(), `no driver "redis" is built in (there are testmem)`) {
		t.Error(err)
	}
}

func TestABuiltInOfAReplacedFileIsRefused(t *testing.T) {
	t.Parallel()
	spec := Spec{Name: "testmem", Builtin: true}
	desc := Description{Name: "testmem", BuildID: "another"}
	byPath := &program{path: "/app", real: "/app"}
	if err := checkIdentity(spec, byPath, desc, true); err == nil || !strings.Contains(err.Error(), "restart the program") {
		t.Errorf("got %v", err)
	}
	bySelf := &program{path: "/proc/self/exe", real: "/app"}
	if err := checkIdentity(spec, bySelf, desc, true); err != nil {
		t.Errorf("the running file itself can't have been replaced: %v", err)
	}
	desc.Name = "other"
	if err := checkIdentity(spec, bySelf, desc, true); err == nil {
		t.Error("another driver was accepted")
	}
}
