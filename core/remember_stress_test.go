package core_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// Many callers with many options on few keys, a source that fails, dawdles,
// panics and finds nothing, entries that vanish, and a Close in the middle:
// nobody hangs, nothing is left running, and no value belongs to another key.
func TestRememberUnderFireEndsAndConfusesNothing(t *testing.T) {
	choices := [][]cache.RememberOption{
		{cache.SingleFlight(20 * time.Second)},
		{cache.StaleFor(time.Minute), cache.RetryAfter(time.Second)},
		{cache.StaleFor(time.Minute), cache.SoftLimit(time.Second), cache.HardLimit(3 * time.Second)},
		{cache.HardLimit(2 * time.Second), cache.NegativeTTL(2 * time.Second)},
		{cache.RefreshAhead(0.5), cache.UnderLock(cache.LockTimeout(2 * time.Second))},
		{cache.RefreshByChance(1), cache.StaleFor(time.Minute), cache.TTLJitter(0.5)},
		{cache.UnderLock(cache.LockTimeout(time.Second)), cache.StaleFor(time.Minute)},
	}
	for round := range 5 {
		synctest.Test(t, func(t *testing.T) {
			m := newFake().open(t, cache.Config{}, cache.WithLogger(silent))
			var wg sync.WaitGroup
			for caller := range 60 {
				random := rand.New(rand.NewPCG(uint64(round), uint64(caller)))
				wg.Go(func() { besiege(t, m, random, choices) })
			}
			time.Sleep(time.Duration(20+20*round) * time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := m.Close(ctx); err != nil {
				t.Errorf("Close: %v", err)
			}
			wg.Wait()
		})
	}
}

func besiege(t *testing.T, m *cache.CacheManager, random *rand.Rand, choices [][]cache.RememberOption) {
	for {
		key := fmt.Sprint("key", random.IntN(3))
		if random.IntN(20) == 0 {
			_, _ = m.Delete(t.Context(), key)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(8))*time.Second)
		v, err := rememberAnyway(ctx, m, key, whim(random.IntN(8), key), choices[random.IntN(len(choices))])
		cancel()
		var got string
		switch {
		case errors.Is(err, cache.ErrClosed):
			return
		case err == nil:
			if err := v.Decode(&got); err != nil || got != key {
				t.Errorf("%s: %q, %v", key, got, err)
			}
		}
		time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
	}
}

func rememberAnyway(ctx context.Context, m *cache.CacheManager, key string, resolve func(context.Context) (any, error), opts []cache.RememberOption) (v cache.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return m.Remember(ctx, key, 5*time.Second, resolve, opts...)
}

// whim is a resolver that does one of many things.
func whim(mood int, key string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		switch mood {
		case 0:
			return nil, errSource
		case 1:
			return nil, cache.ErrNotFound
		case 2:
			panic(errSource)
		case 3:
			<-ctx.Done()
			return nil, ctx.Err()
		case 4:
			time.Sleep(30 * time.Second) // heedless
		case 5:
			time.Sleep(2 * time.Second)
		}
		return key, nil
	}
}
