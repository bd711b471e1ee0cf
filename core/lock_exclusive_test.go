package core_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/sdk"
)

func TestExclusiveIsRenewedWhileTheBlockRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyExclusive)
		r := f.repository(t)
		err := r.Lock("k", cache.LockLease(3*time.Second)).Do(t.Context(), func(ctx context.Context) error {
			f.seen()
			time.Sleep(time.Minute + time.Millisecond)
			if n := times(f.seen(), "renew"); n != 60 {
				t.Errorf("%d renewals of a lease of 3s in a minute, want 60", n)
			}
			return ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
		if _, live := f.row(sdk.StrategyExclusive, "k"); live {
			t.Error("the lease is still there after the block")
		}
	})
}

func TestALostLockEndsItsBlock(t *testing.T) {
	for name, lose := range map[string]func(f *fake){
		"another took it":      func(f *fake) { f.steal(sdk.StrategyExclusive, "k", time.Hour) },
		"the record is gone":   func(f *fake) { f.mu.Lock(); f.rows = map[string]row{}; f.mu.Unlock() },
		"renewal always fails": func(f *fake) { f.failing("renew", sdk.ErrUnavailable) },
	} {
		synctest.Test(t, func(t *testing.T) {
			f := with(sdk.StrategyExclusive)
			r := f.repository(t)
			var told time.Duration
			err := r.Lock("k", cache.LockLease(3*time.Second)).Do(t.Context(), func(ctx context.Context) error {
				lose(f)
				start := time.Now()
				<-ctx.Done()
				told = time.Since(start)
				if context.Cause(ctx) != cache.ErrLockLost {
					t.Errorf("%s: the block ended with %v", name, context.Cause(ctx))
				}
				return errBlock
			})
			if !errors.Is(err, cache.ErrLockLost) || !errors.Is(err, errBlock) {
				t.Errorf("%s: Do returned %v", name, err)
			}
			if limit := 3 * time.Second; told > limit {
				t.Errorf("%s: the block was told after %v, the lease is %v", name, told, limit)
			}
		})
	}
}

func TestARenewalThatFailsIsTriedAgainWithinTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyExclusive)
		r := f.repository(t)
		err := r.Lock("k", cache.LockLease(3*time.Second)).Do(t.Context(), func(ctx context.Context) error {
			f.failing("renew", sdk.ErrUnavailable)
			time.Sleep(2 * time.Second)
			f.failing("renew", nil)
			time.Sleep(10 * time.Second)
			return ctx.Err()
		})
		if err != nil {
			t.Errorf("an outage shorter than the lease: %v", err)
		}
	})
}

func TestABlockThatIgnoresTheLossKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyExclusive)
		r := f.repository(t)
		leave := hold(t, r.Lock("k", cache.LockLease(3*time.Second)))
		f.steal(sdk.StrategyExclusive, "k", 10*time.Second)
		time.Sleep(5 * time.Second)
		if err := r.Lock("k", cache.LockWait(time.Minute)).Do(t.Context(), nothing); err != nil {
			t.Errorf("the next participant: %v", err)
		}
		if err := leave(); !errors.Is(err, cache.ErrLockLost) {
			t.Errorf("the first holder: %v, want ErrLockLost", err)
		}
	})
}

func TestALossThatOnlyTheReleaseSeesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyExclusive)
		err := f.repository(t).Lock("k").Do(t.Context(), func(context.Context) error {
			f.steal(sdk.StrategyExclusive, "k", time.Hour)
			return nil
		})
		if !errors.Is(err, cache.ErrLockLost) {
			t.Errorf("Do returned %v, want ErrLockLost", err)
		}
	})
}

func TestExclusiveWaitersAreWokenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyExclusive)
		// Two managers on the same data stand for two hosts.
		one, two := f.repository(t), f.repository(t)
		leave := hold(t, one.Lock("k"))
		entered := make(chan time.Time, 1)
		go func() {
			_ = two.Lock("k").Do(context.Background(), func(context.Context) error { entered <- time.Now(); return nil })
		}()
		time.Sleep(5*time.Second + 123*time.Millisecond)
		left := time.Now()
		_ = leave()
		if at := <-entered; at != left {
			t.Errorf("the waiter entered %v after the release, want at once", at.Sub(left))
		}
	})
}

func TestExclusiveWaitLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyExclusive)
		r := f.repository(t)
		f.steal(sdk.StrategyExclusive, "k", time.Hour)
		for _, opt := range []cache.LockOption{cache.LockWait(2 * time.Second), cache.LockTimeout(2 * time.Second)} {
			start := time.Now()
			wantLockTimeout(t, r.Lock("k", opt).Do(t.Context(), mustNotRun(t)))
			if waited := time.Since(start); waited != 2*time.Second {
				t.Errorf("waited %v, want 2s", waited)
			}
		}
		f.seen()
		wantLockTimeout(t, r.Lock("k", cache.LockWait(0)).Do(t.Context(), mustNotRun(t)))
		if n := times(f.seen(), "acquire"); n != 1 {
			t.Errorf("LockWait(0) made %d attempts, want 1", n)
		}
	})
}

func TestExclusiveRefusesTimingThatMakesNoSense(t *testing.T) {
	f := with(sdk.StrategyExclusive)
	r := f.repository(t)
	for name, opts := range map[string][]cache.LockOption{
		"timeout and wait":        {cache.LockTimeout(1), cache.LockWait(1)},
		"lease below the limit":   {cache.LockLease(time.Second - 1)},
		"lease above 24 h":        {cache.LockLease(24*time.Hour + 1)},
		"negative wait":           {cache.LockWait(-1)},
		"negative lease":          {cache.LockLease(-1)},
		"a lease that is nothing": {cache.LockLease(0)},
	} {
		if err := r.Lock("k", opts...).Do(t.Context(), mustNotRun(t)); !errors.Is(err, cache.ErrInvalidLockOption) {
			t.Errorf("%s: %v, want ErrInvalidLockOption", name, err)
		}
	}
	if calls := f.seen(); len(calls) > 0 {
		t.Errorf("the driver saw %v", calls)
	}
}

func TestFencingTokensRiseAndBelongToTheBlock(t *testing.T) {
	f := with(sdk.StrategyExclusive)
	r := f.repository(t)
	var last uint64
	var escaped context.Context
	for range 10 {
		err := r.Lock("k").Do(t.Context(), func(ctx context.Context) error {
			token, ok := cache.FencingToken(ctx)
			if !ok || token <= last {
				t.Errorf("token %d, %t after %d", token, ok, last)
			}
			last, escaped = token, ctx
			return r.Lock("inner").Do(ctx, func(ctx context.Context) error {
				inner, _ := cache.FencingToken(ctx)
				outer, ok := cache.FencingTokenFor(ctx, "k")
				if named, _ := cache.FencingTokenFor(ctx, "inner"); named != inner || outer != token || !ok {
					t.Errorf("inner %d, by name %d; outer by name %d, want %d", inner, named, outer, token)
				}
				if _, ok := cache.FencingTokenFor(ctx, "other"); ok {
					t.Error("a token for a lock that is not held")
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := cache.FencingToken(escaped); ok {
		t.Error("the token outlived its block")
	}
	if _, ok := cache.FencingToken(t.Context()); ok {
		t.Error("a token outside any block")
	}
}

func TestExclusiveExcludes(t *testing.T) {
	f := with(sdk.StrategyExclusive)
	repositories := []*cache.CacheRepository{f.repository(t), f.repository(t), f.repository(t)}
	var wg sync.WaitGroup
	inside := 0
	for i := range 60 {
		wg.Go(func() {
			err := repositories[i%3].Lock("k").Do(t.Context(), func(context.Context) error {
				inside++ // the race detector watches
				defer func() { inside-- }()
				if inside != 1 {
					t.Errorf("%d inside", inside)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestDoManyEntersInOrderAllOrNone(t *testing.T) {
	f := with(sdk.StrategyExclusive)
	r := f.repository(t)
	err := cache.DoMany(t.Context(), r, []string{"c", "a", "b", "a"}, func(ctx context.Context) error {
		for _, key := range []string{"a", "b", "c"} {
			if _, ok := cache.FencingTokenFor(ctx, key); !ok {
				t.Errorf("%s is not held", key)
			}
		}
		return nil
	})
	want := []string{"acquire exclusive a 30s", "acquire exclusive b 30s", "acquire exclusive c 30s", "release exclusive c", "release exclusive b", "release exclusive a"}
	if calls := f.seen(); err != nil || !slices.Equal(calls, want) {
		t.Errorf("%v, %v", calls, err)
	}
	f.steal(sdk.StrategyExclusive, "b", time.Hour)
	err = cache.DoMany(t.Context(), r, []string{"a", "b", "c"}, mustNotRun(t), cache.LockWait(0))
	if !errors.Is(err, cache.ErrLockTimeout) {
		t.Errorf("with b taken: %v", err)
	}
	if _, live := f.row(sdk.StrategyExclusive, "a"); live {
		t.Error("a stayed taken")
	}
	if err := cache.DoMany(t.Context(), r, nil, nothing); err != nil {
		t.Errorf("no keys: %v", err)
	}
}

func TestS85RememberLockedMakesExactlyTheseCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		r := f.repository(t)
		remember := func(name, want string, calls ...string) {
			f.seen()
			v, err := cache.RememberLocked(t.Context(), r, "k", time.Minute, constant("built"))
			if got := f.seen(); err != nil || string(v.Bytes()) != want || !slices.Equal(got, calls) {
				t.Errorf("%s: %s, %v by %v; want %s by %v", name, v.Bytes(), err, got, want, calls)
			}
		}
		f.plant("k", `"there"`)
		remember("a hit", `"there"`, "get k")
		delete(f.entries, "k")
		remember("a miss", `"built"`, "get k", "get k", "set k")
		delete(f.entries, "k")
		leave := hold(t, r.Lock("k"))
		go func() {
			synctest.Wait() // the first look is over, and the lock waited for
			f.plant("k", `"another's"`)
			_ = leave()
		}()
		remember("stored meanwhile", `"another's"`, "get k", "get k")
	})
}

func TestRememberLockedNeedsALocker(t *testing.T) {
	type onlyContract struct{ cache.ICacheRepository }
	_, err := cache.RememberLocked(t.Context(), onlyContract{newFake().repository(t)}, "k", time.Minute, constant(1))
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v, want errors.ErrUnsupported", err)
	}
}
