package host

import (
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
