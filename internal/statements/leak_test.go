package statements

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/sdk"
)

// waiters is how many wait for one lock; under lease each of them polls.
const waiters = 1000

// Not parallel: it counts goroutines and connections.
func TestAThousandCancelledWaitsLeaveNothing(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			c := hostConfig(t, kind, cache.LockConfig{})
			if kind == "database" {
				c.Stores["main"].Options["dsn"] = postgresServer(t).URL("") + "&application_name=leaks"
			}
			r := store(t, open(t, c), "main")
			announced, err := r.Capabilities(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, strategy := range []string{announced.LockStrategy, sdk.StrategyExclusive} {
				cancelWaits(t, r, strategy)
			}
			switch kind {
			case "database":
				databaseIsTidy(t)
			case "redis":
				redisIsTidy(t)
			}
		})
	}
}

// cancelWaits has many wait for a lock that is held, cancels them, and sees what
// is left in this process.
func cancelWaits(t *testing.T, r *cache.CacheRepository, strategy string) {
	t.Helper()
	leave := hold(t, r.Lock("k", cache.LockStrategy(strategy)))
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range waiters {
		all.Go(func() {
			err := r.Lock("k", cache.LockStrategy(strategy)).Do(ctx, mustNotRun(t))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: a cancelled waiter: %v", strategy, err)
			}
		})
	}
	time.Sleep(20 * time.Millisecond) // some wait by now, some are on the way
	cancel()
	all.Wait()
	eventually(t, fmt.Sprintf("%s: as many goroutines as before", strategy), func() bool { return runtime.NumGoroutine() <= before+2 })
	if err := leave(); err != nil {
		t.Errorf("%s: the holder: %v", strategy, err)
	}
	eventually(t, strategy+": the lock is free", func() bool { return isFree(t, r, strategy, "k") == nil }) // wins that came too late are given back
}

// databaseIsTidy sees what is left in the server: the fence of the lock that was
// exclusive, and nobody who waits.
func databaseIsTidy(t *testing.T) {
	t.Helper()
	conn, key := postgres(t), strings.ReplaceAll(t.Name(), "/", ".")+":k"
	eventually(t, "one row at most is left", func() bool { return rows(t, conn, key) <= 1 })
	live := ask[int](t, conn, `SELECT count(*) FROM `+lockTable+` WHERE key = $1 AND owner <> '' AND strategy = 'lease'`, key)
	if live != 0 {
		t.Errorf("%d rows of strategy lease are left", live)
	}
	const sessions = `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'leaks'`
	eventually(t, "no session works", func() bool { return ask[int](t, conn, sessions+` AND state <> 'idle'`) == 0 })
	if n := ask[int](t, conn, sessions); n > 10+1 {
		t.Errorf("%d connections are open; max_connections is 10, and waiters share one more", n)
	}
}

func redisIsTidy(t *testing.T) {
	t.Helper()
	client, prefix := redisClient(t), strings.ReplaceAll(t.Name(), "/", ".")
	eventually(t, "no subscription is left", func() bool {
		channels, err := client.PubSubChannels(t.Context(), prefix+":*").Result()
		return err == nil && len(channels) == 0
	})
	if keys := client.Keys(t.Context(), prefix+":k-lock*").Val(); len(keys) != 0 {
		t.Errorf("keys %q are left", keys)
	}
}
