package config

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A file whose reading fails for root too, and a pipe that nobody writes to.
func TestReadingThatFailsOrWouldWait(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/proc/self/mem": "/proc/self/mem: input/output error",
		pipe:             pipe + ": is not a regular file",
	} {
		if _, err := Load(t.Context(), path, Options{Environ: []string{}}); err == nil || err.Error() != want {
			t.Errorf("Load = %v; want %s", err, want)
		}
	}
}
