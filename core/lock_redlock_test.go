package core_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/sdk"
)

func TestS66RedlockAddsAKeyWithATokenAndALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyRedlock)
		r := f.repository(t)
		tokens := map[string]bool{}
		for _, c := range []struct {
			opts []cache.LockOption
			want time.Duration
		}{
			{nil, 10 * time.Second},
			{[]cache.LockOption{cache.LockTimeout(3 * time.Second)}, 3 * time.Second},
			{[]cache.LockOption{cache.LockTimeout(0)}, 10 * time.Second},
			{[]cache.LockOption{cache.LockTimeout(1)}, time.Millisecond},
			{[]cache.LockOption{cache.LockTimeout(1500 * time.Microsecond)}, 2 * time.Millisecond},
		} {
			err := r.Lock("k", c.opts...).Do(t.Context(), func(context.Context) error {
				e := f.entries["k-lock"]
				tokens[string(e.value)] = true
				if lease := time.Until(e.expires); lease != c.want {
					t.Errorf("lease %v, want %v", lease, c.want)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
		if calls := f.seen(); len(tokens) != 5 || !slices.Equal(calls[:2], []string{"add k-lock", "compare-delete k-lock"}) {
			t.Errorf("%d tokens; calls %v", len(tokens), calls)
		}
	})
}

// crowd sends waiters in behind a holder and returns a barrier that they reach
// only when all are inside.
func crowd(t *testing.T, l *cache.CacheLock, n int) (inside *atomic.Int32, done *sync.WaitGroup) {
	inside, done = new(atomic.Int32), new(sync.WaitGroup)
	var barrier sync.WaitGroup
	barrier.Add(n)
	for range n {
		done.Go(func() {
			err := l.Do(context.Background(), func(context.Context) error {
				inside.Add(1)
				barrier.Done()
				barrier.Wait()
				return nil
			})
			if err != nil {
				t.Errorf("a waiter: %v; its timeout is absorbed", err)
			}
		})
	}
	return inside, done
}

func TestS67ToS70RedlockWaitersEnterTogetherAndNeverTryAgain(t *testing.T) {
	for name, end := range map[string]func(leave func() error){
		"the holder leaves":          func(leave func() error) { _ = leave() },
		"the lease or the wait ends": func(leave func() error) { time.Sleep(300 * time.Millisecond) },
	} {
		synctest.Test(t, func(t *testing.T) {
			f := with(sdk.StrategyRedlock)
			r := f.repository(t)
			l := r.Lock("k", cache.LockTimeout(300*time.Millisecond))
			leave := hold(t, l)
			left := sync.OnceValue(leave)
			inside, done := crowd(t, l, 20)
			synctest.Wait()
			if n := inside.Load(); n != 0 {
				t.Fatalf("%s: %d waiters are inside while the holder is", name, n)
			}
			if n := times(f.seen(), "add"); n != 21 {
				t.Errorf("%s: %d adds for 21 participants", name, n)
			}
			end(left)
			done.Wait()
			if n := inside.Load(); n != 20 {
				t.Errorf("%s: %d of 20 waiters entered", name, n)
			}
			if n := times(f.seen(), "add"); n != 0 {
				t.Errorf("%s: %d further adds after the wait", name, n)
			}
			_ = left()
		})
	}
}

func TestS41TimeoutZeroUnderRedlockWaitsTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := with(sdk.StrategyRedlock).repository(t)
		leave := hold(t, r.Lock("k", cache.LockTimeout(time.Hour)))
		start := time.Now()
		if err := r.Lock("k", cache.LockTimeout(0)).Do(t.Context(), nothing); err != nil || time.Since(start) != 10*time.Second {
			t.Errorf("entered after %v, %v", time.Since(start), err)
		}
		_ = leave()
	})
}

func TestS71AnotherProcesssKeyLetsTheWaiterInAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyRedlock)
		r := f.repository(t)
		f.plant("k-lock", "another's token")
		start := time.Now()
		if err := r.Lock("k").Do(t.Context(), nothing); err != nil || time.Since(start) != 0 {
			t.Errorf("entered after %v, %v", time.Since(start), err)
		}
		if token, ok := f.stored("k-lock"); !ok || token != "another's token" {
			t.Errorf("the other's key: %q, %t", token, ok)
		}
	})
}

func TestAnUnreadableKeyOfRedlockCountsAsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyRedlock)
		r := f.repository(t)
		f.fail["add"], f.fail["compare-delete"] = sdk.ErrCorrupt, sdk.ErrCorrupt
		entered, start := false, time.Now()
		err := r.Lock("k").Do(t.Context(), func(context.Context) error {
			entered = true
			return nil
		})
		if err != nil || !entered || time.Since(start) != 0 {
			t.Errorf("entered: %t, after %v, %v", entered, time.Since(start), err)
		}
	})
}

func TestS73AReleaseThatDoesNotCompareTakesWhoeversKeyIsThere(t *testing.T) {
	f := with(sdk.StrategyRedlock)
	f.traits.ReleaseCompares = false
	r := f.repository(t)
	f.plant("k-lock", "another's token")
	if err := r.Lock("k").Do(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	if _, ok := f.stored("k-lock"); ok {
		t.Error("the other's key is still there")
	}
}

func TestS74EventsBelongToAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := with(sdk.StrategyRedlock).repository(t), with(sdk.StrategyRedlock).repository(t)
		leaveOne, leaveTwo := hold(t, one.Lock("k")), hold(t, two.Lock("k"))
		entered := make(chan string, 2)
		for name, r := range map[string]*cache.CacheRepository{"one": one, "two": two} {
			go func() {
				_ = r.Lock("k").Do(context.Background(), func(context.Context) error { entered <- name; return nil })
			}()
		}
		synctest.Wait()
		_ = leaveTwo()
		synctest.Wait()
		if len(entered) != 1 || <-entered != "two" {
			t.Error("a release woke a waiter of another store")
		}
		_ = leaveOne()
		<-entered
	})
}

func TestS89RedlockAbsorbsOnlyTheContention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyRedlock)
		r := f.repository(t)
		for _, failure := range []error{sdk.ErrUnavailable, errors.New("OOM command not allowed")} {
			f.failing("add", failure)
			if err := r.Lock("k").Do(t.Context(), mustNotRun(t)); !errors.Is(err, failure) {
				t.Errorf("the add fails with %v: %v", failure, err)
			}
		}
		f.failing("add", nil)
		leave := hold(t, r.Lock("k"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Lock("k", cache.LockTimeout(time.Minute)).Do(ctx, mustNotRun(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's own deadline: %v", err)
		}
		_ = leave()
	})
}

func TestAReentrantDoIsRefusedUnderEveryStrategy(t *testing.T) {
	for _, strategy := range []string{sdk.StrategyLocal, sdk.StrategyLease, sdk.StrategyRedlock, sdk.StrategyExclusive} {
		r := with(strategy).repository(t)
		err := r.Lock("k").Do(t.Context(), func(ctx context.Context) error {
			return r.Lock("k").Do(ctx, mustNotRun(t))
		})
		if !errors.Is(err, cache.ErrLockReentrant) {
			t.Errorf("%s: %v", strategy, err)
		}
	}
}
