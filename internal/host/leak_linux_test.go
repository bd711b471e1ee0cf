package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// resources counts what a driver could leave behind in its host.
type resources struct{ goroutines, descriptors, children int }

func counted(t *testing.T) resources {
	t.Helper()
	descriptors, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	lists, err := filepath.Glob("/proc/self/task/*/children")
	must(t, err)
	children := 0
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may have ended
		children += len(strings.Fields(string(text)))
	}
	return resources{runtime.NumGoroutine(), len(descriptors), children}
}

// TestNothingIsLeftOfManyDrivers runs by itself, since it counts what belongs
// to the whole process.
func TestNothingIsLeftOfManyDrivers(t *testing.T) {
	base := shortTempDir(t)
	t.Setenv("XDG_RUNTIME_DIR", base)
	ctx := guarded(t)
	cycle := func(i int) {
		spec := command(t, "driver")
		switch i % 4 {
		case 2:
			spec = Spec{Name: "testmem", Builtin: true}
		case 3:
			spec = command(t, []string{"ends after the handshake", "exits at once", "has no certificate", "does not know its nonce"}[i/4%4])
		}
		d := newDriver(t, spec)
		r, err := d.Open(ctx, "s", nil)
		if i%4 == 3 {
			if err == nil {
				t.Error("a bad driver started")
			}
			must(t, d.Close(ctx))
			return
		}
		must(t, err)
		must(t, r.Set(ctx, "k", []byte("v"), 0))
		if i%4 == 1 {
			signal(t, d.Status().PID, syscall.SIGKILL)
			must(t, r.Set(ctx, "k", []byte("v"), 0))
		}
		must(t, d.Close(ctx))
	}
	for i := range 8 { // what is made once for all is made now
		cycle(i)
	}
	before := counted(t)
	for i := range 40 {
		cycle(i)
	}
	var after resources
	for deadline := time.Now().Add(hangGuard); ; time.Sleep(10 * time.Millisecond) {
		after = counted(t)
		if after.goroutines <= before.goroutines && after.descriptors <= before.descriptors && after.children <= before.children {
			break
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			t.Fatalf("before %+v, after %+v; goroutines:\n%s", before, after, stacks)
		}
	}
	if left := entries(t, base); len(left) > 0 {
		t.Errorf("folders left behind: %q", left)
	}
}

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
