package core_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin"
)

// Options of Remember through drivers in processes of their own, on a clock
// that nobody holds.
func TestRememberOptionsThroughRealDrivers(t *testing.T) {
	t.Parallel()
	m, err := cache.OpenConfig(t.Context(), cache.Config{
		Default: "file",
		Prefix:  "test",
		Stores: map[string]cache.StoreConfig{
			"file":   {Driver: "file", Options: map[string]any{"path": t.TempDir()}},
			"memory": {Driver: "memory"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "memory"} {
		r := repository(t, m, name)
		staleThroughADriver(t, r)
		negativeThroughADriver(t, r)
		loadsThroughADriver(t, r)
	}
	if err := m.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// Two hosts with a driver process each, on one directory.
func TestUnderAnExclusiveLockOneResolverRunsForTwoHosts(t *testing.T) {
	t.Parallel()
	s := &source{takes: 10 * time.Millisecond}
	path := t.TempDir()
	var wg sync.WaitGroup
	for range 2 {
		m, err := cache.OpenConfig(t.Context(), cache.Config{
			Default: "file",
			Stores: map[string]cache.StoreConfig{
				"file": {Driver: "file", Lock: cache.LockConfig{Strategy: "exclusive"}, Options: map[string]any{"path": path}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close(context.WithoutCancel(t.Context()))
		for range 50 {
			wg.Go(func() {
				s.want(t, repository(t, m, "file"), 1, false, cache.SingleFlight(time.Minute), cache.UnderLock())
			})
		}
	}
	wg.Wait()
	if s.count() != 1 {
		t.Errorf("the resolver ran %d times, want once", s.count())
	}
}

func staleThroughADriver(t *testing.T, r *cache.CacheRepository) {
	opts := []cache.RememberOption{cache.StaleFor(time.Hour), cache.SoftLimit(10 * time.Millisecond)}
	if _, err := r.Remember(t.Context(), "stale", 20*time.Millisecond, constant("old"), opts...); err != nil {
		t.Fatal(err)
	}
	past := func() bool { v, err := r.Get(t.Context(), "stale"); return err == nil && !v.Found() }
	for end := time.Now().Add(30 * time.Second); !past(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: the value does not end its TTL", r.Name())
		}
	}
	finish := make(chan struct{})
	stored := make(chan struct{})
	v, err := r.Remember(t.Context(), "stale", time.Hour, func(context.Context) (any, error) { <-finish; defer close(stored); return "new", nil }, opts...)
	if err != nil || !v.Stale() || string(v.Bytes()) != `"old"` {
		t.Errorf("%s: at the soft limit: %s, stale %t, %v", r.Name(), v.Bytes(), v.Stale(), err)
	}
	close(finish)
	<-stored
	v, err = r.Remember(t.Context(), "stale", time.Hour, func(context.Context) (any, error) { return nil, errSource }, cache.StaleFor(time.Hour), cache.SingleFlight(time.Minute))
	if err != nil || v.Stale() || string(v.Bytes()) != `"new"` {
		t.Errorf("%s: after the background load: %s, stale %t, %v", r.Name(), v.Bytes(), v.Stale(), err)
	}
}

func negativeThroughADriver(t *testing.T, r *cache.CacheRepository) {
	asked := 0
	for range 2 {
		_, err := r.Remember(t.Context(), "absent", time.Hour, func(context.Context) (any, error) { asked++; return nil, cache.ErrNotFound }, cache.NegativeTTL(time.Hour))
		if !errors.Is(err, cache.ErrNotFound) {
			t.Errorf("%s: %v", r.Name(), err)
		}
	}
	if asked != 1 {
		t.Errorf("%s: the resolver was asked %d times, want once", r.Name(), asked)
	}
}

func loadsThroughADriver(t *testing.T, r *cache.CacheRepository) {
	s := &source{takes: 10 * time.Millisecond}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			s.want(t, r, 1, false, cache.SingleFlight(time.Minute), cache.UnderLock(cache.LockStrategy("local")))
		})
	}
	wg.Wait()
	if s.count() != 1 {
		t.Errorf("%s: the resolver ran %d times, want once", r.Name(), s.count())
	}
}
