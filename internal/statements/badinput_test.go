package statements

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func TestBadLockOptionsAreRefusedOnEveryBackend(t *testing.T) {
	eachKind(t, func(t *testing.T, _ string, main, _ *cache.CacheRepository) {
		announced, err := main.Capabilities(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shortest, err := time.ParseDuration(announced.ShortestLease)
		if err != nil {
			t.Fatal(err)
		}
		refuse := func(strategy, what string, opts ...cache.LockOption) {
			t.Helper()
			opts = append(opts, cache.LockStrategy(strategy))
			if err := main.Lock(t.Name(), opts...).Do(t.Context(), mustNotRun(t)); !errors.Is(err, cache.ErrInvalidLockOption) {
				t.Errorf("%s with %s: %v, want ErrInvalidLockOption", strategy, what, err)
			}
		}
		for _, strategy := range strategies(t, main) {
			refuse(strategy, "a negative timeout", cache.LockTimeout(-1))
			refuse(strategy, "the most negative timeout", cache.LockTimeout(math.MinInt64))
			refuse(strategy, "a negative wait", cache.LockWait(-1))
			refuse(strategy, "a negative lease", cache.LockLease(-1))
			if strategy != sdk.StrategyExclusive {
				refuse(strategy, "a wait", cache.LockWait(time.Second))
				refuse(strategy, "a lease", cache.LockLease(time.Minute))
				refuse(strategy, "a wait beside a timeout", cache.LockWait(time.Second), cache.LockTimeout(time.Second))
				continue
			}
			refuse(strategy, "a lease of 0", cache.LockLease(0))
			refuse(strategy, "a lease below the shortest", cache.LockLease(shortest-1))
			refuse(strategy, "a lease above a day", cache.LockLease(24*time.Hour+1))
			refuse(strategy, "two limits of the wait", cache.LockWait(time.Second), cache.LockTimeout(time.Second))
			for _, lease := range []time.Duration{shortest, 24 * time.Hour} {
				if err := main.Lock(t.Name(), cache.LockStrategy(strategy), cache.LockLease(lease)).Do(t.Context(), nothing); err != nil {
					t.Errorf("exclusive with a lease of %v: %v", lease, err)
				}
			}
		}
		if err := main.Lock(t.Name(), cache.LockStrategy("mutex")).Do(t.Context(), mustNotRun(t)); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a strategy that there is not: %v", err)
		}
	})
}

func TestAnEvictionPolicyThatCouldEvictALockIsInTheLog(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"maxmemory 100mb", "maxmemory-policy allkeys-lru"}})
	log := &sharedText{}
	m := open(t, cache.Config{Default: "main", Stores: map[string]cache.StoreConfig{"main": redisStore(server)}},
		cache.WithLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))))
	for range 3 {
		if err := m.Lock("k", cache.LockStrategy(sdk.StrategyExclusive)).Do(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
	}
	const warning = "under allkeys-lru a full server may evict locks"
	eventually(t, "the log warns", func() bool { return strings.Contains(log.String(), warning) })
	if text := log.String(); strings.Count(text, warning) != 1 || !strings.Contains(text, "store=main") {
		t.Errorf("the log says\n%s", text)
	}
}

func TestBadLockKeysAreRefusedOnEveryBackend(t *testing.T) {
	eachKind(t, func(t *testing.T, _ string, main, _ *cache.CacheRepository) {
		for what, key := range map[string]string{
			"no key":                      "",
			"a NUL":                       "a\x00b",
			"bytes that are no UTF-8":     "a\xffb",
			"1,025 bytes with its prefix": strings.Repeat("k", 1025-len("p:")),
		} {
			for _, strategy := range strategies(t, main) {
				if err := main.Lock(key, cache.LockStrategy(strategy)).Do(t.Context(), mustNotRun(t)); !errors.Is(err, cache.ErrInvalidKey) {
					t.Errorf("%s of %s: %v, want ErrInvalidKey", strategy, what, err)
				}
			}
		}
	})
}

// The longest key is 1,024 bytes with its prefix.
func TestLongKeysAndKeysThatDifferInCaseAreLocksOfTheirOwn(t *testing.T) {
	eachKind(t, func(t *testing.T, _ string, main, _ *cache.CacheRepository) {
		long := "k" + strings.Repeat("ü", 510) // 1,024 with the prefix p: and one letter more
		for _, strategy := range strategies(t, main) {
			for _, keys := range [][2]string{{long + "a", long + "b"}, {long + "a", long + "A"}, {"the key", "The Key"}, {"\u00e9", "e\u0301"}} {
				err := main.Lock(keys[0], cache.LockStrategy(strategy)).Do(t.Context(), func(context.Context) error {
					ctx, cancel := context.WithTimeout(t.Context(), hangGuard/2)
					defer cancel()
					return main.Lock(keys[1], cache.LockStrategy(strategy), cache.LockTimeout(time.Hour)).Do(ctx, nothing)
				})
				if err != nil {
					t.Errorf("%s of %.20q… (%d bytes) and another: %v", strategy, keys[0], len(keys[0]), err)
				}
			}
		}
	})
}
