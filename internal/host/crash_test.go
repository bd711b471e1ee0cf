//go:build unix

package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// brisk shortens the pauses, so that a test sees many restarts.
func brisk(d *Driver) *Driver {
	d.pace.firstPause = time.Millisecond
	d.pace.longestPause = 20 * time.Millisecond
	return d
}

// onBothPlanes runs a test with a driver whose calls take the fast plane, and
// again over gRPC: what comes of a crash is the same.
func onBothPlanes(t *testing.T, test func(t *testing.T, spec Spec)) {
	t.Parallel()
	for name, transport := range map[string]Transport{"fast plane": TransportAuto, "grpc": TransportGRPC} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := command(t, "driver")
			spec.Transport = transport
			test(t, spec)
		})
	}
}

// rounds counts what each caller has done.
type rounds [16]atomic.Int64

// allBeyond reports whether every caller has done something since before.
func (r *rounds) allBeyond(before [16]int64) bool {
	for i := range r {
		if r[i].Load() <= before[i] {
			return false
		}
	}
	return true
}

func (r *rounds) now() (now [16]int64) {
	for i := range r {
		now[i] = r[i].Load()
	}
	return now
}

// murder kills the driver's process again and again, each time when every
// caller has got through a round since the last: then no call meets two kills.
func murder(ctx context.Context, t *testing.T, d *Driver, done *rounds, kills int) {
	last := 0
	for kill := 0; ; kill++ {
		before := done.now()
		s := d.Status()
		for ; s.State != StateReady || s.PID == last || !done.allBeyond(before); s = d.Status() {
			if ctx.Err() != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
		if kill == kills {
			return
		}
		last = s.PID
		signal(t, last, syscall.SIGKILL)
	}
}

func TestKilledUnderLoad(t *testing.T) { onBothPlanes(t, testKilledUnderLoad) }

func testKilledUnderLoad(t *testing.T, spec Spec) {
	calls := guarded(t)
	ctx, stop := context.WithCancel(calls)
	defer stop()
	dir := t.TempDir()
	d := newDriver(t, spec)
	d.pace.healthy = 0 // so that every crash is followed by a restart at once
	r := openStore(t, d, map[string]any{"dir": dir})

	var sure, maybe atomic.Int64
	var done rounds
	round := func() error {
		if _, _, err := r.Get(calls, "k"); err != nil {
			return fmt.Errorf("get: %w", err)
		}
		if err := r.Set(calls, "k", []byte("v"), 0); err != nil {
			return fmt.Errorf("set: %w", err)
		}
		_, err := r.Increment(calls, "counter", 1, 0)
		if err == nil {
			sure.Add(1)
			return nil
		}
		if errors.Is(err, wire.ErrMaybeApplied) {
			maybe.Add(1)
			return nil
		}
		return fmt.Errorf("increment: %w", err)
	}
	var callers sync.WaitGroup
	for i := range done {
		callers.Go(func() {
			for ctx.Err() == nil {
				if err := round(); err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
				done[i].Add(1)
			}
		})
	}
	murder(ctx, t, d, &done, 8)
	stop()
	callers.Wait()
	info, err := os.Stat(filepath.Join(dir, "counter"))
	must(t, err)
	if count := info.Size(); count < sure.Load() || count > sure.Load()+maybe.Load() {
		t.Errorf("the counter is %d after %d sure and %d possible steps", count, sure.Load(), maybe.Load())
	}
	if s := d.Status(); s.Restarts != 8 {
		t.Errorf("%d restarts after 8 kills", s.Restarts)
	}
}

func TestAFrozenProcessIsFoundKilledAndReplaced(t *testing.T) {
	onBothPlanes(t, testAFrozenProcessIsFoundKilledAndReplaced)
}

func testAFrozenProcessIsFoundKilledAndReplaced(t *testing.T, spec Spec) {
	ctx := guarded(t)
	d := newDriver(t, spec)
	d.pace.health, d.pace.answer = 20*time.Millisecond, 100*time.Millisecond
	r := openStore(t, d, nil)
	frozen := d.Status().PID
	signal(t, frozen, syscall.SIGSTOP)
	eventually(t, "another process serves", func() bool {
		if _, _, err := r.Get(ctx, "k"); err != nil {
			t.Fatal("a call did not outlast the frozen process:", err)
		}
		return d.Status().PID != frozen
	})
	if alive(frozen) {
		t.Error("the frozen process is still there")
	}
}

func TestACrashLoopFailsFastAndRecovers(t *testing.T) {
	onBothPlanes(t, testACrashLoopFailsFastAndRecovers)
}

func testACrashLoopFailsFastAndRecovers(t *testing.T, spec Spec) {
	ctx := guarded(t)
	d := newDriver(t, spec)
	d.pace.firstPause, d.pace.longestPause = 300*time.Millisecond, 300*time.Millisecond
	r, other := openStore(t, d, nil), openStore(t, d, nil)
	_, _, err := r.Get(ctx, "crash")
	if !errors.Is(err, wire.ErrDriverUnavailable) || !strings.Contains(err.Error(), "exit status 9") {
		t.Errorf("got %v, want the driver's exit status", err)
	}
	failed := 0
	eventually(t, "the driver is back", func() bool {
		_, _, err := other.Get(ctx, "k")
		if err != nil && errors.Is(err, wire.ErrDriverUnavailable) {
			failed++
		}
		return err == nil
	})
	if failed == 0 {
		t.Error("no call failed although the driver was resting")
	}
	if s := d.Status(); s.State != StateReady || s.Restarts != 2 {
		t.Errorf("status %+v, want two restarts: one at once, one after a pause", s)
	}
}

func TestThePanicOfADriverIsInTheLogAndItsCallersAreServed(t *testing.T) {
	onBothPlanes(t, testThePanicOfADriverIsInTheLogAndItsCallersAreServed)
}

func testThePanicOfADriverIsInTheLogAndItsCallersAreServed(t *testing.T, spec Spec) {
	log := &logBuffer{}
	spec.Logger = log.logger()
	d := newDriver(t, spec)
	r := openStore(t, d, nil)
	ctx, cancel := context.WithTimeout(guarded(t), hangGuard)
	defer cancel()
	_, _, err := r.Get(ctx, "panic in a goroutine")
	if !errors.Is(err, wire.ErrDriverUnavailable) || !strings.Contains(err.Error(), "exit status 2") {
		t.Error(err)
	}
	eventually(t, "the panic is in the log", func() bool {
		return strings.Contains(log.String(), `level=ERROR msg="panic: a driver's last words`)
	})
}

func TestAStoreThatIsRefusedAfterARestartFailsAloneAndHeals(t *testing.T) {
	onBothPlanes(t, testAStoreThatIsRefusedAfterARestartFailsAloneAndHeals)
}

func testAStoreThatIsRefusedAfterARestartFailsAloneAndHeals(t *testing.T, spec Spec) {
	ctx := guarded(t)
	refusal := filepath.Join(t.TempDir(), "refusal")
	d := brisk(newDriver(t, spec))
	d.pace.heal = 10 * time.Millisecond
	good, bad := openStore(t, d, nil), openStore(t, d, map[string]any{"refusal": refusal})
	must(t, os.WriteFile(refusal, nil, 0o600))
	signal(t, d.Status().PID, syscall.SIGKILL)
	eventually(t, "the store is refused", func() bool {
		_, _, err := bad.Get(ctx, "k")
		return errors.Is(err, wire.ErrInvalidOptions)
	})
	if _, _, err := good.Get(ctx, "k"); err != nil {
		t.Error("the other store suffers:", err)
	}
	must(t, os.Remove(refusal))
	eventually(t, "the store is open again", func() bool { _, _, err := bad.Get(ctx, "k"); return err == nil })
	if bad.Generation() != 2 {
		t.Errorf("generation %d, want the second: its data is gone", bad.Generation())
	}
}

func TestGrandchildrenDoNotHideADeathNorHoldAStop(t *testing.T) {
	onBothPlanes(t, testGrandchildrenDoNotHideADeathNorHoldAStop)
}

func testGrandchildrenDoNotHideADeathNorHoldAStop(t *testing.T, spec Spec) {
	for _, how := range []string{"spawn", "spawn in a session of its own"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			ctx := guarded(t)
			d := newDriver(t, spec)
			r := openStore(t, d, nil)
			child := func() int {
				file := filepath.Join(t.TempDir(), "pid")
				must(t, r.Set(ctx, how, []byte(file), 0))
				text, err := os.ReadFile(file)
				must(t, err)
				pid, err := strconv.Atoi(string(text))
				if err != nil || pid < 2 {
					t.Fatal(pid, err)
				}
				t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
				return pid
			}
			first := child()
			signal(t, d.Status().PID, syscall.SIGKILL)
			if _, _, err := r.Get(ctx, "k"); err != nil {
				t.Error(err)
			}
			second := child()
			must(t, d.Close(ctx))
			if how != "spawn" {
				return // what leaves the group is out of reach
			}
			for _, pid := range []int{first, second} {
				eventually(t, fmt.Sprintf("grandchild %d is gone", pid), func() bool { return !alive(pid) })
			}
		})
	}
}

func TestCloseDuringCallsAndStarts(t *testing.T) { onBothPlanes(t, testCloseDuringCallsAndStarts) }

func testCloseDuringCallsAndStarts(t *testing.T, spec Spec) {
	t.Run("a start that hangs is given up", func(t *testing.T) {
		t.Parallel()
		silent := command(t, "says nothing")
		silent.StartTimeout, silent.Transport = time.Hour, spec.Transport
		d := newDriver(t, silent)
		failed := make(chan error, 1)
		go func() { _, err := d.Describe(context.Background()); failed <- err }()
		eventually(t, "the start is under way", func() bool { return d.Status().State == StateStarting })
		must(t, d.Close(guarded(t)))
		if err := <-failed; !errors.Is(err, wire.ErrClosed) {
			t.Error(err)
		}
	})
	t.Run("a call that heeds its context ends, the others are cut", func(t *testing.T) {
		t.Parallel()
		d := newDriver(t, spec)
		r := openStore(t, d, nil)
		failed := make(chan error, 2)
		for _, key := range []string{"hang", "hang for ever"} {
			go func() { _, _, err := r.Get(guarded(t), key); failed <- err }()
		}
		must(t, r.Set(guarded(t), "k", nil, 0))
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		d.Close(ctx)
		for range 2 {
			if err := <-failed; !errors.Is(err, wire.ErrClosed) {
				t.Errorf("a call got %v, want ErrClosed", err)
			}
		}
	})
	t.Run("a frozen process is killed at the bound", func(t *testing.T) {
		t.Parallel()
		d := newDriver(t, spec)
		openStore(t, d, nil)
		pid := d.Status().PID
		signal(t, pid, syscall.SIGSTOP)
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		if err := d.Close(ctx); err == nil || !strings.Contains(err.Error(), "was killed") {
			t.Errorf("got %v, want an error that says it was killed", err)
		}
		if alive(pid) {
			t.Error("the process is still there")
		}
	})
}

func TestCallsThatRunOutOfTimeCastNoDoubtOnTheProcess(t *testing.T) {
	onBothPlanes(t, testCallsThatRunOutOfTimeCastNoDoubtOnTheProcess)
}

func testCallsThatRunOutOfTimeCastNoDoubtOnTheProcess(t *testing.T, spec Spec) {
	log := &logBuffer{}
	spec.Logger = log.logger()
	d := newDriver(t, spec)
	r := openStore(t, d, nil)
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 25 {
				ctx, cancel := context.WithTimeout(guarded(t), 10*time.Millisecond)
				if _, _, err := r.Get(ctx, "hang"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, wire.ErrUnavailable) {
					t.Errorf("got %v, want the deadline alone", err)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	if s := d.Status(); s.State != StateReady || s.Restarts != 0 || s.LastErr != nil {
		t.Errorf("status %+v", s)
	}
}
