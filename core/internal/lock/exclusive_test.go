package lock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/internal/lockwatch"
	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// Between the driver's grant and the entry its process may die and another one
// take its place: nobody may believe in the first one's grant.
func TestAGrantThatDiedWithItsProcessIsNotEntered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		h := newHouse(t, f)
		f.after = func(attempt int) {
			if attempt == 1 {
				f.restart()
			}
		}
		held := h.enter(t)
		if attempts, _, _ := f.counts(); attempts != 2 || held.Fence != 2 || held.Lost() || !f.held() {
			t.Errorf("%d attempts, fence %d, lost %t; want a second grant", attempts, held.Fence, held.Lost())
		}
		h.leave(t, held)
		h.empty(t, f)
	})
}

func TestAGrantThatComesAfterItsLeaseIsNotEntered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		h := newHouse(t, f)
		f.after = func(attempt int) {
			if attempt < 3 {
				time.Sleep(testLease + 1)
			}
		}
		held := h.enter(t)
		if attempts, _, _ := f.counts(); attempts != 3 || held.Fence != 3 {
			t.Errorf("entered with fence %d after %d attempts, want the third of both", held.Fence, attempts)
		}
		h.leave(t, held)
		h.empty(t, f)
	})
}

func TestALateGrantIsGivenBackWhenTheWaitIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		h := newHouse(t, f)
		f.before = func(int) { time.Sleep(testLease + 1) }
		_, err := h.Enter(t.Context(), request(testLease))
		if attempts, _, _ := f.counts(); !errors.Is(err, wire.ErrLockTimeout) || attempts != 1 {
			t.Errorf("%v after %d attempts, want ErrLockTimeout after one", err, attempts)
		}
		h.empty(t, f)
	})
}

func TestAWaitOfNothingIsOneAttemptAndNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		h := newHouse(t, f)
		f.owner, f.until = "another", time.Now().Add(time.Second)
		start := time.Now()
		_, err := h.Enter(t.Context(), request(0))
		h.work.Wait()
		if attempts, waits, _ := f.counts(); !errors.Is(err, wire.ErrLockTimeout) || attempts != 1 || waits != 0 || time.Since(start) != 0 {
			t.Errorf("%v after %v, %d attempts, %d waits", err, time.Since(start), attempts, waits)
		}
		time.Sleep(time.Second)
		h.empty(t, f)
	})
}

// A turn and the end of the wait for it come at the same instant.
func TestATurnThatComesTooLateIsPassedOn(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeStore()
			h := newHouse(t, f)
			first := h.enter(t)
			var waiting sync.WaitGroup
			for range 20 {
				waiting.Go(func() {
					held, err := h.Enter(t.Context(), request(time.Second))
					if err == nil {
						h.leave(t, held)
					} else if !errors.Is(err, wire.ErrLockTimeout) {
						t.Error(err)
					}
				})
			}
			last := make(chan Held, 1)
			synctest.Wait()
			waiting.Go(func() { last <- h.enter(t) })
			time.Sleep(time.Second)
			h.leave(t, first)
			held := <-last
			waiting.Wait()
			h.leave(t, held)
			h.empty(t, f)
		})
	}
}

func TestCancelledWaitsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		h := newHouse(t, f)
		held := h.enter(t)
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range 1000 {
			waiting.Go(func() {
				if _, err := h.Enter(ctx, request(-1)); !errors.Is(err, context.Canceled) {
					t.Errorf("a cancelled waiter: %v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		waiting.Wait()
		if held.Lost() || !f.held() {
			t.Error("cancelling waiters took the lock from its holder")
		}
		h.leave(t, held)
		h.empty(t, f)
	})
}

func TestAWinThatNobodyWaitsForIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		h := newHouse(t, f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f.before = func(int) { time.Sleep(2 * time.Second) }
		if _, err := h.Enter(ctx, request(-1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller whose time is over: %v", err)
		}
		if turns.len() != 0 {
			t.Error("its place is still taken")
		}
		h.empty(t, f)
		if _, _, releases := f.counts(); releases != 1 {
			t.Errorf("%d releases of a win that came too late", releases)
		}
	})
}

func TestClosingEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		h := newHouse(t, f)
		held := h.enter(t)
		behind := newHouse(t, f) // another store of the same space: not closed
		var waiting sync.WaitGroup
		waiting.Go(func() { behind.leave(t, behind.enter(t)) })
		synctest.Wait()
		for range 10 {
			waiting.Go(func() {
				if _, err := h.Enter(t.Context(), request(-1)); !errors.Is(err, wire.ErrClosed) {
					t.Errorf("a waiter of a closing manager: %v", err)
				}
			})
		}
		synctest.Wait()
		h.shut()
		synctest.Wait()
		if held.Lost() {
			t.Error("closing took the lock from its holder")
		}
		h.leave(t, held)
		waiting.Wait()
		behind.empty(t, f)
		h.empty(t, f)
	})
}

func TestARestartTellsTheHolderAndLetsTheNextTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		h := newHouse(t, f)
		first := h.enter(t)
		told := false
		first.Watch(func() { told = true })
		next := make(chan Held, 1)
		go func() { next <- h.enter(t) }()
		synctest.Wait()
		f.restart()
		if !told || !first.Lost() {
			t.Error("the holder was not told before the new process served")
		}
		second := <-next
		if err := first.Release(t.Context()); !errors.Is(err, wire.ErrLockLost) {
			t.Errorf("the lost lock's release: %v", err)
		}
		if !f.held() || second.Lost() {
			t.Error("the late release took the next holder's lock")
		}
		h.leave(t, second)
		h.empty(t, f)
	})
}

// Whoever watches hears until when the holder believed to have the lease: no
// longer than until it was told of the loss.
func TestAWatcherHearsOfEveryDeadlineAndOfTheLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		h := newHouse(t, f)
		start := h.Elapsed()
		var heard []time.Duration
		ctx := lockwatch.With(t.Context(), func(_ string, until time.Duration) { heard = append(heard, until-start) })
		held, err := h.Enter(ctx, request(testLease))
		if err != nil {
			t.Fatal(err)
		}
		held.Watch(func() {})
		time.Sleep(testLease / 2)
		f.restart()
		time.Sleep(testLease)
		if want := []time.Duration{testLease, testLease/3 + testLease, testLease / 2}; !slices.Equal(heard, want) {
			t.Errorf("heard of deadlines at %v, want %v", heard, want)
		}
		if err := held.Release(t.Context()); !errors.Is(err, wire.ErrLockLost) {
			t.Errorf("the release: %v", err)
		}
		h.empty(t, f)
	})
}

func TestAReleaseDoesNotHangOnARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		h := newHouse(t, f)
		goOn := make(chan struct{})
		f.renew = func(context.Context) error { <-goOn; return nil }
		held := h.enter(t)
		time.Sleep(testLease / 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := held.Release(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a release behind a renewal that hangs: %v", err)
		}
		if turns.len() != 0 {
			t.Error("the place is still taken")
		}
		close(goOn)
		time.Sleep(testLease)
		h.empty(t, f)
	})
}

// Passing the lock on inside a process is faster than any other process can
// come: it has to make room now and then.
func TestAProcessDoesNotKeepTheLockToItself(t *testing.T) {
	for name, can := range map[string]sdk.Capabilities{
		"waiters that are woken up": {sdk.CanWaitLease},
		"waiters that look":         nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeStore()
			f.can = can
			f.before = func(int) { time.Sleep(time.Millisecond / 2) }
			here, elsewhere := newHouse(t, f), newHouse(t, f)
			elsewhere.Space = "elsewhere"
			ctx, stop := context.WithCancel(t.Context())
			var working sync.WaitGroup
			for range 4 {
				working.Go(func() {
					for ctx.Err() == nil {
						held := here.enter(t)
						time.Sleep(time.Second)
						here.leave(t, held)
					}
				})
			}
			synctest.Wait()
			start := time.Now()
			held := elsewhere.enter(t)
			if waited := time.Since(start); waited > 3*time.Second {
				t.Errorf("%s: another process waited %v for a lock that is held for a second at a time", name, waited)
			}
			stop()
			elsewhere.leave(t, held)
			working.Wait()
			here.empty(t, f)
			elsewhere.empty(t, f)
		})
	}
}

func TestALockThatNobodyElseSharesIsPassedOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeStore()
		f.scope = sdk.ScopeProcess
		h := newHouse(t, f)
		var working sync.WaitGroup
		start := time.Now()
		for range 100 {
			working.Go(func() {
				held := h.enter(t)
				time.Sleep(time.Second)
				h.leave(t, held)
			})
		}
		working.Wait()
		if took := time.Since(start); took != 100*time.Second {
			t.Errorf("100 seconds inside took %v", took)
		}
		h.empty(t, f)
	})
}
