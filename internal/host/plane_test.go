//go:build unix

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// planeOf is the fast plane that a store's calls take; nil for gRPC.
func planeOf(r *RemoteStore) *fastplane.Client {
	return r.bound.Load().store.(*wireStore).plane
}

// Drivers that don't take the plane that they are offered.
func init() {
	badDrivers["knows no plane"] = func() {
		os.Unsetenv(wire.PlaneKey)
		sdk.Serve(testDriver)
	}
	badDrivers["speaks another plane"] = func() {
		os.Setenv(wire.PlaneKey, "1000")
		sdk.Serve(testDriver)
	}
	badDrivers["has lost the plane's descriptor"] = func() {
		exitOn(syscall.Close(3))
		sdk.Serve(testDriver)
	}
	badDrivers["has something else at the plane's descriptor"] = func() {
		exitOn(syscall.Close(3))
		if fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0); fd != 3 {
			exitOn(fmt.Errorf("descriptor %d: %v", fd, err))
		}
		sdk.Serve(testDriver)
	}
}

func TestCallsTakeTheFastPlaneWhereThereIsOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		role      string
		transport Transport
		fast      bool
	}{
		{"driver", TransportAuto, true},
		{"driver", TransportGRPC, false},
		{"knows no plane", TransportAuto, false},
		{"speaks another plane", TransportAuto, false},
		{"has lost the plane's descriptor", TransportAuto, false},
		{"has something else at the plane's descriptor", TransportAuto, false},
	} {
		t.Run(test.role+string(test.transport), func(t *testing.T) {
			t.Parallel()
			ctx := guarded(t)
			spec := command(t, test.role)
			spec.Transport = test.transport
			d := newDriver(t, spec)
			r := openStore(t, d, nil)
			if fast := planeOf(r) != nil; fast != test.fast {
				t.Errorf("fast: %v, want %v", fast, test.fast)
			}
			must(t, r.Set(ctx, "k", []byte("v"), 0))
			value, ok, err := r.Get(ctx, "k")
			if string(value) != "v" || !ok || err != nil {
				t.Errorf("%q, %v, %v", value, ok, err)
			}
			signal(t, d.Status().PID, syscall.SIGKILL)
			if _, _, err := r.Get(ctx, "k"); err != nil {
				t.Error("after a crash:", err)
			}
		})
	}
}

// cutPlaneOnce breaks the driver's end of the plane, and leaves a file that says
// so. The plane's is the one socket of which neither end has a name.
func (s *testStore) cutPlaneOnce() error {
	file, err := os.OpenFile(filepath.Join(s.dir, "cut"), os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	for fd := 3; fd < 256; fd++ {
		own, err1 := syscall.Getsockname(fd)
		other, err2 := syscall.Getpeername(fd)
		a, ok1 := own.(*syscall.SockaddrUnix)
		b, ok2 := other.(*syscall.SockaddrUnix)
		if err1 == nil && err2 == nil && ok1 && ok2 && len(a.Name) < 2 && len(b.Name) < 2 { // "" or "@"
			return syscall.Shutdown(fd, syscall.SHUT_RDWR)
		}
	}
	return errors.New("there is no plane")
}

// A process without its plane is of no use, however well it does over gRPC.
func TestAPlaneThatBreaksIsReplacedWithItsProcess(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(ctx context.Context, r *RemoteStore) error{
		"at the driver's end": func(ctx context.Context, r *RemoteStore) error {
			_, _, err := r.Get(ctx, "cut the plane once")
			return err
		},
		"at the host's end": func(ctx context.Context, r *RemoteStore) error {
			planeOf(r).Close()
			_, _, err := r.Get(ctx, "k")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := guarded(t)
			d := newDriver(t, command(t, "driver"))
			r := openStore(t, d, map[string]any{"dir": t.TempDir()})
			first, plane := d.Status().PID, planeOf(r)
			if err := cut(ctx, r); err != nil {
				t.Error("the call did not outlast the plane:", err)
			}
			must(t, r.Set(ctx, "k", []byte("v"), 0))
			s := d.Status()
			if s.PID == first || s.Restarts != 1 || s.State != StateReady || alive(first) {
				t.Errorf("status %+v after process %d", s, first)
			}
			if s.LastErr == nil || !strings.Contains(s.LastErr.Error(), "fast plane") {
				t.Errorf("the status says %v", s.LastErr)
			}
			if planeOf(r) == plane || planeOf(r) == nil || planeOf(r).Err() != nil {
				t.Error("the calls do not take the new process's plane")
			}
		})
	}
}

// A call that hangs in the goroutine that reads the plane stops the plane, while
// gRPC goes on.
func TestAPlaneThatIsStuckIsReplacedWithItsProcess(t *testing.T) {
	t.Parallel()
	ctx := guarded(t)
	d := newDriver(t, command(t, "driver"))
	d.pace.health, d.pace.answer = 20*time.Millisecond, 100*time.Millisecond
	r := openStore(t, d, map[string]any{"inline": true})
	first := d.Status().PID
	stuck, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, _, err := r.Get(stuck, "hang for ever"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, _, err := r.Get(ctx, "k"); err != nil {
		t.Error("a call did not outlast the stuck plane:", err)
	}
	if s := d.Status(); s.PID == first || s.LastErr == nil || !strings.Contains(s.LastErr.Error(), "fast plane") {
		t.Errorf("status %+v after process %d", s, first)
	}
}

// Slow calls in every slot, and more that wait, are no reason to replace a
// process.
func TestAPlaneThatIsBusyIsNotReplaced(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(guarded(t))
	d := newDriver(t, command(t, "driver"))
	d.pace.health, d.pace.answer = 5*time.Millisecond, time.Second
	r := openStore(t, d, nil)
	var callers sync.WaitGroup
	for range fastplane.Slots + 100 {
		callers.Go(func() {
			if _, _, err := r.Get(ctx, "hang"); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	eventually(t, "no slot is free", func() bool {
		brief, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, _, err := r.Get(brief, "k")
		return errors.Is(err, wire.ErrOverloaded)
	})
	time.Sleep(1500 * time.Millisecond) // several signs of life
	if s := d.Status(); s.State != StateReady || s.Restarts != 0 {
		t.Errorf("status %+v", s)
	}
	cancel()
	callers.Wait()
	if _, _, err := r.Get(guarded(t), "k"); err != nil {
		t.Error("afterwards:", err)
	}
}
