package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

// fill stores n keys that start with prefix.
func fill(ctx context.Context, t testing.TB, store *sdk.Instance, prefix string, n int) []string {
	t.Helper()
	keys := make([]string, n)
	entries := make([]sdk.Entry, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s%d", prefix, i)
		entries[i] = sdk.Entry{Key: keys[i], Value: []byte("v")}
	}
	if err := store.SetMany(ctx, entries); err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestAListingSurvivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"appendonly yes"}})
	store := on(t, server)
	ctx := within(t, patience)
	keys := fill(ctx, t, store, "k", 2000)
	found := make(map[string]bool)
	var cursor []byte
	for page := 0; ; page++ {
		some, next, err := store.Keys(ctx, "k", cursor, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range some {
			found[key] = true
		}
		if page%7 == 3 && page < 20 {
			server.Restart(t) // from now on the server's own cursors mean something else
		}
		if cursor = next; len(cursor) == 0 {
			break
		}
	}
	missing := slices.DeleteFunc(keys, func(key string) bool { return found[key] })
	if len(missing) > 0 {
		t.Errorf("%d of 2000 keys were not listed, %s for one", len(missing), missing[0])
	}
}

func TestClearAndKeysSeeNothingButEntries(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	store, seen := opened(t, map[string]any{"addr": server.Addr(), "dedicated": true}), observer(t, server)
	ctx := within(t, patience)
	foreign := []string{"app:\x00", "app:\xff\xfe", "app:" + strings.Repeat("x", 1100), "app:job\x00exclusive", ""}
	for _, key := range foreign {
		seen.Set(ctx, key, "v", 0)
	}
	keys := fill(ctx, t, store, "app:", 100)
	listed, _, err := store.Keys(ctx, "", nil, 1000)
	if slices.Sort(listed); err != nil || !slices.Equal(listed, slices.Sorted(slices.Values(keys))) {
		t.Errorf("Keys lists %d keys, %v; want the %d entries", len(listed), err, len(keys))
	}
	if _, removed, err := store.Clear(ctx, "", nil); removed != len(keys) || err != nil {
		t.Errorf("Clear removes %d, %v; want %d", removed, err, len(keys))
	}
	if n := seen.DBSize(ctx).Val(); n != int64(len(foreign)) {
		t.Errorf("%d keys are left; want the %d that are no entries", n, len(foreign))
	}
	stats := seen.Info(ctx, "commandstats").Val()
	for _, never := range []string{"cmdstat_keys:", "cmdstat_flushdb:", "cmdstat_flushall:", "cmdstat_del:"} {
		if strings.Contains(stats, never) {
			t.Errorf("the server was sent %s", never)
		}
	}
}

func TestAStoreWithoutAPrefixIsClearedOnlyWhereItIsAlone(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	store := on(t, server)
	ctx := within(t, patience)
	fill(ctx, t, store, "k", 10)
	if _, _, err := store.Clear(ctx, "", nil); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "dedicated") {
		t.Errorf("Clear without a prefix: %v; want ErrUnsupported, and what to do", err)
	}
	if _, removed, err := store.Clear(ctx, "k", nil); removed != 10 || err != nil {
		t.Errorf("Clear with a prefix = %d, %v", removed, err)
	}
}

// others is how many keys of others a Clear goes past here; the long check has
// a million.
func TestClearLeavesRoomForOthers(t *testing.T) {
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"enable-debug-command yes"}})
	clearBeside(t, server, 50_000, 5_000)
}

// clearBeside clears some keys among many of others, and measures what callers
// meanwhile notice.
func clearBeside(t *testing.T, server *servertest.Redis, others, own int) {
	store, caller, admin := on(t, server), on(t, server), observer(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	command(t, admin, "debug", "populate", others, "other")
	fill(ctx, t, store, "own:", own)
	fill(ctx, t, store, "call", 1)
	before := latencies(ctx, t, caller, func() { time.Sleep(time.Second) })
	var took time.Duration
	during := latencies(ctx, t, caller, func() {
		start := time.Now()
		removed := 0
		var cursor []byte
		for {
			next, n, err := store.Clear(ctx, "own:", cursor)
			if err != nil {
				t.Fatal(err)
			}
			removed += n
			if cursor = next; len(cursor) == 0 {
				break
			}
		}
		took = time.Since(start)
		if removed != own {
			t.Errorf("Clear removed %d keys; want %d", removed, own)
		}
	})
	t.Logf("Clear of %d keys beside %d of others took %v; a Get of one caller, median and 99th percentile: %v and %v before, %v and %v meanwhile",
		own, others, took.Round(time.Millisecond), before.at(50), before.at(99), during.at(50), during.at(99))
	if n := admin.DBSize(ctx).Val(); n != int64(others+1) {
		t.Errorf("%d keys are left; want %d", n, others+1)
	}
}

// A sample of latencies, sorted.
type sample []time.Duration

func (s sample) at(percent int) time.Duration {
	return s[len(s)*percent/100].Round(time.Microsecond)
}

// latencies measures Gets while work runs.
func latencies(ctx context.Context, t *testing.T, store *sdk.Instance, work func()) sample {
	t.Helper()
	var measured sample
	stop := load(ctx, 1, func(ctx context.Context, _ int) {
		for ctx.Err() == nil {
			start := time.Now()
			if _, ok, err := store.Get(context.WithoutCancel(ctx), "call0"); !ok || err != nil {
				t.Errorf("Get = %t, %v", ok, err)
				return
			}
			measured = append(measured, time.Since(start))
		}
	})
	work()
	stop()
	slices.Sort(measured)
	return measured
}
