//go:build unix

package host

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func sumOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

func TestAPinnedProgramRunsAndAnotherDoesNot(t *testing.T) {
	t.Parallel()
	good := command(t, "driver")
	good.SHA256 = sumOf(t, good.Command[0])
	for name, test := range map[string]struct{ pin, says string }{
		"the right pin":      {good.SHA256, ""},
		"in capital letters": {strings.ToUpper(good.SHA256), ""},
		"another pin":        {strings.Repeat("ab", 32), good.SHA256},
		"half a pin":         {good.SHA256[:32], "not the hexadecimal form"},
		"no pin at all":      {"latest", "not the hexadecimal form"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := good
			spec.SHA256 = test.pin
			_, err := newDriver(t, spec).Describe(guarded(t))
			if test.says == "" {
				must(t, err)
				return
			}
			var start *StartError
			if !errors.As(err, &start) || start.Stage != StagePrepare || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want one that says %q", err, test.says)
			}
		})
	}
}

func TestAPinnedScriptRunsFromACopyOfWhatWasChecked(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(t.TempDir(), "driver")
	must(t, os.WriteFile(path, []byte("#!/bin/sh\necho checked\n"), 0o755))
	spec := Spec{Command: []string{path}, SHA256: sumOf(t, path)}
	prog, err := locate(spec, folder)
	must(t, err)
	defer prog.close()
	must(t, os.WriteFile(path, []byte("#!/bin/sh\necho swapped\n"), 0o755))
	p := newProcess(prog, nil, "hello\n", quiet())
	must(t, p.start())
	<-p.done
	if lines := p.output.lastLines(); len(lines) != 1 || lines[0] != "stdout: checked" {
		t.Errorf("it printed %q", lines)
	}
	if _, err := locate(spec, t.TempDir()); err == nil {
		t.Error("the swapped script was accepted")
	}
}

func TestAPinOfABuiltInIsRefused(t *testing.T) {
	t.Parallel()
	_, err := locate(Spec{Name: "testmem", Builtin: true, SHA256: strings.Repeat("ab", 32)}, t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "sha256") {
		t.Error(err)
	}
}
