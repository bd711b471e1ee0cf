package statements

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/sdk"
)

// eachKind runs a test on every driver's stores, side by side.
func eachKind(t *testing.T, test func(t *testing.T, kind string, main, other *cache.CacheRepository)) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			main, other := on(t, kind)
			test(t, kind, main, other)
		})
	}
}

func TestS1KeyStoreAndPrefixMakeALock(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string, main, other *cache.CacheRepository) {
		key := t.Name()
		leave := hold(t, main.Lock(key, cache.LockTimeout(time.Hour)))
		waits(t, main, key)
		enters(t, other, key)
		enters(t, main, key+" of another")
		another := "memory"
		if kind == another {
			another = "file"
		}
		elsewhere, _ := on(t, another)
		enters(t, elsewhere, key)
		if err := leave(); err != nil {
			t.Error(err)
		}
		enters(t, main, key)
	})
}

func TestS2EachDriverAnnouncesItsReach(t *testing.T) {
	announced := map[string][2]string{
		"file":      {sdk.StrategyLocal, string(sdk.ScopeHost)},
		"memory":    {sdk.StrategyRedlock, string(sdk.ScopeProcess)},
		"redis":     {sdk.StrategyRedlock, string(sdk.ScopeCluster)},
		"database":  {sdk.StrategyLease, string(sdk.ScopeCluster)},
		"memcached": {sdk.StrategyRedlock, string(sdk.ScopeCluster)},
	}
	eachKind(t, func(t *testing.T, kind string, main, _ *cache.CacheRepository) {
		c, err := main.Capabilities(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{c.LockStrategy, c.LockScope}; got != announced[kind] {
			t.Errorf("announced %q, want %q", got, announced[kind])
		}
	})
}

func TestS3WhatWasSetStaysOnEveryBackend(t *testing.T) {
	eachKind(t, func(t *testing.T, _ string, main, _ *cache.CacheRepository) {
		key, failed := t.Name(), errors.New("a later step failed")
		err := main.Lock(key).Do(t.Context(), func(ctx context.Context) error {
			if err := main.Set(ctx, key, "written", time.Hour); err != nil {
				return err
			}
			return failed
		})
		if err != failed { //nolint:errorlint // it has to be the very error
			t.Errorf("Do: %v", err)
		}
		if ok, err := main.Has(t.Context(), key); !ok || err != nil {
			t.Errorf("what was set before the failure: %t, %v", ok, err)
		}
		enters(t, main, key)
	})
}

// strategies are those that a driver can carry.
func strategies(t *testing.T, r *cache.CacheRepository) []string {
	t.Helper()
	c, err := r.Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	able := []string{sdk.StrategyLocal}
	if c.Has("add") {
		able = append(able, sdk.StrategyRedlock)
	}
	if c.Has("lease") {
		able = append(able, sdk.StrategyLease)
	}
	if c.Has("lease") && c.Has("renew-lease") {
		able = append(able, sdk.StrategyExclusive)
	}
	return able
}

func TestS16EveryStrategyIsLeftHoweverTheBlockEnds(t *testing.T) {
	failed := errors.New("the block failed")
	ends := map[string]func(context.CancelFunc) error{
		"without error": func(context.CancelFunc) error { return nil },
		"with an error": func(context.CancelFunc) error { return failed },
		"in a panic":    func(context.CancelFunc) error { panic(failed) },
		"its goroutine": func(context.CancelFunc) error { runtime.Goexit(); return nil },
		"cancelled":     func(cancel context.CancelFunc) error { cancel(); return context.Canceled },
	}
	eachKind(t, func(t *testing.T, _ string, main, _ *cache.CacheRepository) {
		for _, strategy := range strategies(t, main) {
			for how, end := range ends {
				key := t.Name() + strategy + how
				ctx, cancel := context.WithCancel(t.Context())
				var block sync.WaitGroup
				block.Go(func() {
					defer func() { _ = recover() }()
					_ = main.Lock(key, cache.LockStrategy(strategy)).Do(ctx, func(context.Context) error { return end(cancel) })
				})
				block.Wait()
				cancel()
				free(t, main, strategy, key)
			}
		}
	})
}

// free fails unless the lock is free at this moment.
func free(t *testing.T, r *cache.CacheRepository, strategy, key string) {
	t.Helper()
	if err := isFree(t, r, strategy, key); err != nil {
		t.Errorf("%s: lock %q after its holder: %v", strategy, key, err)
	}
}

func isFree(t *testing.T, r *cache.CacheRepository, strategy, key string) error {
	t.Helper()
	if strategy != sdk.StrategyRedlock {
		return r.Lock(key, cache.LockStrategy(strategy), cache.LockTimeout(0)).Do(t.Context(), nothing)
	}
	there, err := r.Has(t.Context(), key+"-lock")
	if there {
		err = errors.New("its key is there")
	}
	return err
}

func TestS91CancelledInsideTheBlockStaysInsideUntilItReturns(t *testing.T) {
	eachKind(t, func(t *testing.T, _ string, main, _ *cache.CacheRepository) {
		key, verdict := t.Name(), errors.New("the block's own verdict")
		ctx, cancel := context.WithCancel(t.Context())
		err := main.Lock(key).Do(ctx, func(context.Context) error {
			cancel()
			waits(t, main, key)
			return verdict
		})
		if err != verdict { //nolint:errorlint // it has to be the very error
			t.Errorf("Do: %v, want what the block returned", err)
		}
		strategy, _ := main.Capabilities(t.Context())
		free(t, main, strategy.LockStrategy, key)
	})
}

func TestS93ACancelledReleaseIsMadeAllTheSame(t *testing.T) {
	eachKind(t, func(t *testing.T, _ string, main, _ *cache.CacheRepository) {
		for _, strategy := range strategies(t, main) {
			for range 5 {
				key := t.Name() + strategy
				ctx, cancel := context.WithCancelCause(t.Context())
				var cancelled sync.WaitGroup
				err := main.Lock(key, cache.LockStrategy(strategy)).Do(ctx, func(context.Context) error {
					cancelled.Go(func() { cancel(errors.New("cancelled beside the release")) })
					return nil
				})
				cancelled.Wait()
				if err != nil {
					t.Errorf("%s: %v", strategy, err)
				}
				free(t, main, strategy, key)
			}
		}
	})
}

// leased are the drivers whose default lock ends by itself while its block runs.
var leased = []string{"database", "redis", "memory", "memcached"}

func TestS25AnEndedLeaseLetsTheNextInBesideTheHolder(t *testing.T) {
	t.Parallel()
	for _, kind := range leased {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			main, _ := on(t, kind)
			key := t.Name()
			err := main.Lock(key, cache.LockTimeout(300*time.Millisecond)).Do(t.Context(), func(ctx context.Context) error {
				enters(t, main, key) // while this block runs
				return ctx.Err()
			})
			if err != nil {
				t.Errorf("a block that outlived its lease: %v", err)
			}
		})
	}
}

func TestS86AnEndedLeaseLetsResolversOverlap(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"database", "redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			main, _ := on(t, kind)
			key := t.Name()
			remember := func(lease time.Duration, resolve func(context.Context) (any, error)) string {
				v, err := cache.RememberLocked(t.Context(), main, key, time.Hour, resolve, cache.LockTimeout(lease))
				if err != nil {
					t.Errorf("RememberLocked: %v", err)
				}
				return string(v.Bytes())
			}
			if _, err := main.Delete(t.Context(), key); err != nil { // of a run before
				t.Fatal(err)
			}
			var second string
			first := remember(300*time.Millisecond, func(context.Context) (any, error) {
				second = remember(hangGuard, func(context.Context) (any, error) { return "second", nil })
				return "first", nil // the other resolver ran while this one does
			})
			if first != `"first"` || second != `"second"` {
				t.Errorf("the callers got %s and %s", first, second)
			}
			if v, err := main.Get(t.Context(), key); err != nil || string(v.Bytes()) != `"first"` {
				t.Errorf("stored is %s, %v; want what the last one stored, which began first", v.Bytes(), err)
			}
		})
	}
}

func TestS34AndS35ARedlockLastsTenSecondsOrItsTimeout(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "redis", "memcached"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			main, _ := on(t, kind)
			for name, c := range map[string]struct {
				opts []cache.LockOption
				want time.Duration
			}{
				"none": {nil, 10 * time.Second},
				"0":    {[]cache.LockOption{cache.LockTimeout(0)}, 10 * time.Second},
				"1h":   {[]cache.LockOption{cache.LockTimeout(time.Hour)}, time.Hour},
			} {
				start := time.Now()
				err := main.Lock(t.Name()+name, c.opts...).Do(t.Context(), func(ctx context.Context) error {
					left, ok, err := main.TTL(ctx, t.Name()+name+"-lock")
					if short := c.want - left; !ok || short < -2*time.Millisecond || short > time.Since(start)+2*time.Millisecond {
						t.Errorf("timeout %s: the key lives for %v, %t; want %v", name, left, ok, c.want)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
}
