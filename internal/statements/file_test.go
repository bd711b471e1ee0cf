package statements

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

func TestS3ALockIsNoTransaction(t *testing.T) {
	t.Parallel()
	m := open(t, fileConfig(t.TempDir()))
	failed := errors.New("a later step failed")
	err := m.Lock("k").Do(t.Context(), func(ctx context.Context) error {
		if err := m.Set(ctx, "step", 1, cache.Forever); err != nil {
			return err
		}
		return failed
	})
	if !errors.Is(err, failed) || taken(t, m, "k") {
		t.Errorf("Do: %v; the lock is taken: %t", err, taken(t, m, "k"))
	}
	if ok, err := m.Has(t.Context(), "step"); !ok || err != nil {
		t.Errorf("the value that was set before the failure: %t, %v", ok, err)
	}
}

func TestS19ALockIsVoluntary(t *testing.T) {
	t.Parallel()
	c := fileConfig(t.TempDir())
	m := open(t, c)
	leave := hold(t, m.Lock("guarded"))
	if err := m.Set(t.Context(), "guarded", 1, cache.Forever); err != nil {
		t.Error(err)
	}
	startHost(t, "writer", c).expect("written")
	if ok, err := m.Has(t.Context(), "guarded"); ok || err != nil {
		t.Errorf("after the other process cleared the store: %t, %v", ok, err)
	}
	if !taken(t, m, "guarded") {
		t.Error("Clear took the lock")
	}
	_ = leave()
}

func TestS27OneDirectoryIsOneLockHoweverItIsNamed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "cache")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	working, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(working, dir)
	if err != nil {
		t.Fatal(err)
	}
	leave := hold(t, open(t, fileConfig(dir)).Lock("k"))
	for _, path := range []string{dir, relative, link, dir + "/../cache/"} {
		if m := open(t, fileConfig(path)); !taken(t, m, "k") {
			t.Errorf("%s does not share the lock of %s", path, dir)
		}
	}
	_ = leave()
}

func TestS45DifferentDirectoriesDoNotShare(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	leave := hold(t, open(t, fileConfig(filepath.Join(parent, "one"))).Lock("k"))
	if m := open(t, fileConfig(filepath.Join(parent, "two"))); taken(t, m, "k") {
		t.Error("a sibling directory shares the lock")
	}
	_ = leave()
}

func TestS46GoroutinesShareAndProcessesDoNot(t *testing.T) {
	t.Parallel()
	c := fileConfig(t.TempDir())
	one, two := open(t, c), open(t, c)
	leave := hold(t, one.Lock("k"))
	shared := make(chan bool)
	go func() {
		runtime.LockOSThread()
		shared <- taken(t, two, "k")
	}()
	if !<-shared {
		t.Error("another thread and manager got in beside the holder")
	}
	h := startHost(t, "holder", c)
	h.expect("inside") // while this process holds it
	h.say("leave")
	_ = leave()
}

func TestS49FileLocksDoNotMakeARepositoryLockReachOtherProcesses(t *testing.T) {
	t.Parallel()
	c := fileConfig(t.TempDir())
	m := open(t, c)
	if err := m.Set(t.Context(), "unsafe", 0, cache.Forever); err != nil {
		t.Fatal(err)
	}
	hosts := []*host{startHost(t, "counter", c), startHost(t, "counter", c)}
	for _, h := range hosts {
		h.expect("inside")
	}
	for _, h := range hosts {
		h.say("count")
	}
	for _, h := range hosts {
		h.expect("read 0") // both have read before one writes
	}
	for _, h := range hosts {
		h.say("write")
		h.expect("<nil>")
	}
	if n, _, err := cache.Of[int](m).Get(t.Context(), "n"); n != 2000 || err != nil {
		t.Errorf("atomic increments: %d, %v; want 2000", n, err)
	}
	if n, _, err := cache.Of[int](m).Get(t.Context(), "unsafe"); n != 1 || err != nil {
		t.Errorf("get-then-set under the lock: %d, %v; want 1, a lost step", n, err)
	}
}

func TestS82OnFileTheSecondLookTellsNullFromAbsent(t *testing.T) {
	t.Parallel()
	m := open(t, fileConfig(t.TempDir()))
	if err := m.Set(t.Context(), "k", nil, cache.Forever); err != nil {
		t.Fatal(err)
	}
	ran := 0
	resolve := func(context.Context) (any, error) { ran++; return "built", nil }
	for _, want := range []string{"null", `"built"`} {
		v, err := cache.DoValue(t.Context(), m.Lock("build"), func(ctx context.Context) (cache.Value, error) {
			return m.Remember(ctx, "k", time.Minute, resolve)
		})
		if err != nil || string(v.Bytes()) != want {
			t.Errorf("Remember: %s, %v; want %s", v.Bytes(), err, want)
		}
		if _, err := m.Delete(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
	}
	if ran != 1 {
		t.Errorf("the resolver ran %d times, want only after the delete", ran)
	}
}

// A file lock reaches one process: in each a resolver runs once, and the two
// run at the same time.
func TestS86OnFileEachProcessResolvesOnce(t *testing.T) {
	t.Parallel()
	c := fileConfig(t.TempDir())
	hosts := []*host{startHost(t, "resolver", c), startHost(t, "resolver", c)}
	for _, h := range hosts {
		h.expect("resolving")
	}
	m := open(t, c)
	for i, h := range hosts {
		value := strconv.Itoa(i)
		h.say(value)
		h.expect(strconv.Quote(value))
		if v, err := m.Get(t.Context(), "k"); err != nil || string(v.Bytes()) != strconv.Quote(value) {
			t.Errorf("stored is %s, %v; want %q, which was stored last", v.Bytes(), err, value)
		}
	}
	if _, err := m.Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	r := store(t, m, "file")
	var ran atomic.Int32
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, err := cache.RememberLocked(t.Context(), r, "k", cache.Forever, func(context.Context) (any, error) {
				return ran.Add(1), nil
			})
			if err != nil {
				t.Errorf("RememberLocked: %v", err)
			}
		})
	}
	all.Wait()
	if n := ran.Load(); n != 1 {
		t.Errorf("in one process the resolver ran %d times", n)
	}
}

func TestS92LeavingALocalLockNeedsNoDriver(t *testing.T) {
	t.Parallel()
	m := open(t, fileConfig(t.TempDir()))
	leave := hold(t, m.Lock("k"))
	pid := m.Drivers()[0].PID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGCONT)
	if err := leave(); err != nil {
		t.Errorf("leaving while the driver %s stands still: %v", strconv.Itoa(pid), err)
	}
	if taken(t, m, "k") {
		t.Error("the lock is still taken")
	}
}
