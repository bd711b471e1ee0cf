package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASwappedFileDoesNotDefeatAPin(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	folder := t.TempDir()
	path := filepath.Join(folder, "driver")
	copyFile(t, self, path)
	prog, err := locate(Spec{Command: []string{path}, SHA256: sumOf(t, path)}, folder)
	must(t, err)
	defer prog.close()
	evil := filepath.Join(folder, "evil")
	must(t, os.WriteFile(evil, []byte("#!/bin/sh\necho evil\n"), 0o755))
	must(t, os.Rename(evil, path))

	ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
	defer cancel()
	p := newProcess(prog, []string{roleKey + "=prints garbage and ends"}, "hello\n", quiet())
	must(t, p.start())
	defer p.kill()
	must(t, p.Wait(ctx))
	<-p.done
	if lines := p.output.lastLines(); len(lines) != 1 || lines[0] != "stdout: Welcome to ACME!" {
		t.Errorf("another program ran: %q", lines)
	}
	if !strings.HasPrefix(prog.path, "/proc/self/fd/") {
		t.Errorf("%s is executed instead of the open file", prog.path)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/self/fd/%d", prog.file.Fd())); err != nil {
		t.Error(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	must(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(out, in)
	must(t, errors.Join(err, out.Close()))
}
