package core_test

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/core/internal/lock"
)

// hold enters a lock in a goroutine of its own and returns once inside; leave
// ends the block and returns Do's error.
func hold(t *testing.T, l *cache.CacheLock) (leave func() error) {
	t.Helper()
	inside, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- l.Do(context.Background(), func(context.Context) error {
			close(inside)
			<-end
			return nil
		})
	}()
	select {
	case <-inside:
	case err := <-done:
		t.Fatalf("the lock was not entered: %v", err)
	}
	return func() error { close(end); return <-done }
}

func nothing(context.Context) error { return nil }

func mustNotRun(t *testing.T) func(context.Context) error {
	return func(context.Context) error {
		t.Error("the block ran although entry failed")
		return nil
	}
}

func TestS24AWaitLimitBoundsTheWaitAndNotTheBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFake().repository(t)
		l := r.Lock("k", cache.LockTimeout(2*time.Second))
		leave := hold(t, l)
		start := time.Now()
		err := l.Do(t.Context(), mustNotRun(t))
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("waited %v, want 2s", waited)
		}
		wantLockTimeout(t, err)
		time.Sleep(time.Hour)
		if err := leave(); err != nil {
			t.Errorf("a block of an hour under a timeout of 2s: %v", err)
		}
	})
}

func wantLockTimeout(t *testing.T, err error) {
	t.Helper()
	var timeout interface{ Timeout() bool }
	switch {
	case !errors.Is(err, cache.ErrLockTimeout), !errors.Is(err, os.ErrDeadlineExceeded):
		t.Errorf("error %v, want ErrLockTimeout and os.ErrDeadlineExceeded", err)
	case errors.Is(err, context.DeadlineExceeded):
		t.Errorf("error %v matches context.DeadlineExceeded", err)
	case !errors.As(err, &timeout) || !timeout.Timeout():
		t.Errorf("error %v has no Timeout() true", err)
	}
	if want := `cache: lock "k" in store main (driver fake): waited too long for the lock`; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestS28WithoutTimeoutAWaiterWaitsForEverAndNoLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFake().repository(t)
		leave := hold(t, r.Lock("k"))
		entered := make(chan error, 1)
		go func() { entered <- r.Lock("k").Do(context.Background(), nothing) }()
		time.Sleep(30 * 24 * time.Hour)
		synctest.Wait()
		select {
		case err := <-entered:
			t.Fatalf("the waiter got in beside the holder: %v", err)
		default:
		}
		if err := leave(); err != nil {
			t.Fatal(err)
		}
		if err := <-entered; err != nil {
			t.Errorf("the waiter after the release: %v", err)
		}
	})
}

func TestS29AWaiterThatGivesUpLeavesTheHolderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFake().repository(t)
		l := r.Lock("k", cache.LockTimeout(2*time.Second))
		leave := hold(t, l)
		wantLockTimeout(t, l.Do(t.Context(), mustNotRun(t)))
		wantLockTimeout(t, l.Do(t.Context(), mustNotRun(t)))
		if err := leave(); err != nil {
			t.Fatal(err)
		}
		if err := l.Do(t.Context(), nothing); err != nil {
			t.Errorf("after the release: %v", err)
		}
	})
}

func TestS39TimeoutZeroIsOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFake().repository(t)
		l := r.Lock("k", cache.LockTimeout(0))
		for range 1000 {
			if err := l.Do(t.Context(), nothing); err != nil {
				t.Fatalf("a free lock: %v", err)
			}
		}
		leave := hold(t, l)
		start := time.Now()
		wantLockTimeout(t, l.Do(t.Context(), mustNotRun(t)))
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %v for a held lock, want 0", waited)
		}
		_ = leave()
	})
}

func TestS42ANegativeTimeoutIsRefusedBeforeAnything(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	for _, d := range []time.Duration{-1, math.MinInt64} {
		err := r.Lock("k", cache.LockTimeout(d)).Do(t.Context(), mustNotRun(t))
		if !errors.Is(err, cache.ErrInvalidLockOption) {
			t.Errorf("LockTimeout(%d): %v, want ErrInvalidLockOption", d, err)
		}
	}
	if calls := f.seen(); len(calls) > 0 || f.opens > 0 {
		t.Errorf("the driver was opened %d times and saw %v", f.opens, calls)
	}
}

func TestS26WaitAndLeaseAreRefusedOnLocal(t *testing.T) {
	r := newFake().repository(t)
	for name, opts := range map[string][]cache.LockOption{
		"wait":               {cache.LockWait(time.Second)},
		"lease":              {cache.LockLease(time.Second)},
		"timeout with lease": {cache.LockTimeout(time.Second), cache.LockLease(time.Second)},
		"timeout with wait":  {cache.LockTimeout(time.Second), cache.LockWait(time.Second)},
	} {
		err := r.Lock("k", opts...).Do(t.Context(), mustNotRun(t))
		if !errors.Is(err, cache.ErrInvalidLockOption) {
			t.Errorf("%s: %v, want ErrInvalidLockOption", name, err)
		}
	}
}

func TestS47UnusedLocksDoNotAccumulate(t *testing.T) {
	r := newFake().repository(t)
	before := lock.Locals()
	for i := range 10_000 {
		if err := r.Lock("key:"+time.Duration(i).String()).Do(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
	}
	if n := lock.Locals(); n != before {
		t.Errorf("the registry holds %d locks after 10,000 were used once, want %d", n, before)
	}
	leave := hold(t, r.Lock("held"))
	for range 3 {
		runtime.GC()
	}
	err := r.Lock("held", cache.LockTimeout(0)).Do(t.Context(), mustNotRun(t))
	if !errors.Is(err, cache.ErrLockTimeout) {
		t.Errorf("a held lock after a collection: %v, want ErrLockTimeout", err)
	}
	_ = leave()
}

func TestS90CancelledWaitersLeaveTheHolderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFake().repository(t)
		leave := hold(t, r.Lock("k"))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				if err := r.Lock("k").Do(ctx, mustNotRun(t)); !errors.Is(err, context.Canceled) {
					t.Errorf("a cancelled waiter: %v, want context.Canceled", err)
				}
			})
		}
		last := make(chan error, 1)
		go func() { last <- r.Lock("k").Do(context.Background(), nothing) }()
		synctest.Wait()
		cancel()
		wg.Wait()
		synctest.Wait()
		if len(last) > 0 {
			t.Fatalf("the waiter that was not cancelled got in beside the holder: %v", <-last)
		}
		if err := leave(); err != nil {
			t.Fatal(err)
		}
		if err := <-last; err != nil {
			t.Errorf("the remaining waiter: %v", err)
		}
	})
}

func TestLocalWaitersEnterInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newFake().repository(t)
		leave := hold(t, r.Lock("k"))
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				_ = r.Lock("k").Do(t.Context(), func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, i)
					return nil
				})
			})
			synctest.Wait()
		}
		_ = leave()
		wg.Wait()
		for i, n := range order {
			if i != n {
				t.Fatalf("order of entry %v", order)
			}
		}
	})
}

// A turn and a cancellation that come together: the lock goes on, to the next
// waiter or free.
func TestALocalTurnThatComesWithACancellationIsPassedOn(t *testing.T) {
	for range 200 {
		r := newFake().repository(t)
		leave := hold(t, r.Lock("k"))
		ctx, cancel := context.WithCancel(t.Context())
		cancelled, second := make(chan error, 1), make(chan error, 1)
		go func() { cancelled <- r.Lock("k").Do(ctx, nothing) }()
		go func() { second <- r.Lock("k").Do(context.Background(), nothing) }()
		runtime.Gosched()
		go cancel()
		_ = leave()
		if err := <-cancelled; err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := <-second; err != nil {
			t.Fatal(err)
		}
	}
}
