package redis_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func request(strategy, owner string, lease time.Duration) sdk.LeaseRequest {
	r := sdk.LeaseRequest{Strategy: strategy, Key: "app:job", Owner: owner, Lease: lease}
	if strategy == sdk.StrategyLease {
		r.Clock = sdk.DriverClock
	}
	return r
}

func TestALockIsOneHashBesideItsKey(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	store, seen := on(t, server), observer(t, server)
	ctx := within(t, patience)
	r := request(sdk.StrategyExclusive, "me", time.Minute)
	g, err := store.AcquireLease(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	const name = "app:job\x00exclusive"
	record := seen.HGetAll(ctx, name).Val()
	if record["owner"] != "me" || record["fence"] != strconv.FormatUint(g.Fence, 10) {
		t.Errorf("the lock is kept as %v", record)
	}
	if keep := seen.PTTL(ctx, name).Val(); keep <= 24*time.Hour || keep > 24*time.Hour+time.Minute {
		t.Errorf("the record is kept for %v; want its lease and 24h", keep)
	}
	if _, err := store.ReleaseLease(ctx, r); err != nil {
		t.Fatal(err)
	}
	if record := seen.HGetAll(ctx, name).Val(); len(record) != 1 || record["fence"] == "" {
		t.Errorf("after the release there is %v; want the fence alone", record)
	}
	if keep := seen.PTTL(ctx, name).Val(); keep <= 23*time.Hour || keep > 24*time.Hour+time.Minute {
		t.Errorf("the fence is kept for %v; want 24h", keep)
	}

	lease := request(sdk.StrategyLease, "me", time.Minute)
	if _, err := store.AcquireLease(ctx, lease); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ReleaseLease(ctx, lease); err != nil {
		t.Fatal(err)
	}
	if n := seen.DBSize(ctx).Val(); n != 1 {
		t.Errorf("%d keys are left; a lease without a fence leaves none", n)
	}
}

func TestAFenceIsTheServersClockAndNeverFalls(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	store, seen := on(t, server), observer(t, server)
	ctx := within(t, patience)
	r := request(sdk.StrategyExclusive, "me", time.Minute)
	before := seen.Time(ctx).Val().UnixMicro()
	g, err := store.AcquireLease(ctx, r)
	after := seen.Time(ctx).Val().UnixMicro()
	if fence := int64(g.Fence); err != nil || fence < before || fence > after {
		t.Errorf("the first fence is %d, %v; the server's clock went from %d to %d", g.Fence, err, before, after)
	}
	// A clock that was ahead: the fence goes on from where it was, digit by
	// digit, also where no double could.
	for _, last := range []uint64{1 << 53, 1<<62 + 1} {
		seen.HSet(ctx, "app:job\x00exclusive", "fence", last)
		if g, err := store.AcquireLease(ctx, r); g.Fence != last+1 || err != nil {
			t.Errorf("after fence %d comes %d, %v", last, g.Fence, err)
		}
		if g, err := store.RenewLease(ctx, r); g.Fence != last+1 || err != nil {
			t.Errorf("a renewal of fence %d has %d, %v", last+1, g.Fence, err)
		}
	}
	seen.HSet(ctx, "app:job\x00exclusive", "fence", "999999999")
	if g, err := store.AcquireLease(ctx, r); int64(g.Fence) < before || err != nil {
		t.Errorf("after a shorter number comes %d, %v; want the clock", g.Fence, err)
	}
}

// Leases of the strategy lease are judged by the clock of whoever asks, those
// of exclusive by the server's.
func TestEachStrategyHasItsClock(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	store, seen := on(t, server), observer(t, server)
	ctx := within(t, patience)
	for strategy, clock := range map[string]func() time.Time{
		sdk.StrategyLease:     time.Now,
		sdk.StrategyExclusive: func() time.Time { return seen.Time(ctx).Val() },
	} {
		r := request(strategy, "me", time.Hour)
		before := clock()
		if _, err := store.AcquireLease(ctx, r); err != nil {
			t.Fatal(err)
		}
		after := clock()
		until, err := seen.HGet(ctx, "app:job\x00"+strategy, "until").Int64()
		if err != nil || until < before.Add(time.Hour).UnixMicro() || until > after.Add(time.Hour).UnixMicro()+1 {
			t.Errorf("%s: until %d, %v; want an hour after %d to %d", strategy, until, err, before.UnixMicro(), after.UnixMicro())
		}
	}
	until := time.Now().Add(time.Second).UnixMicro()
	seen.HSet(ctx, "app:job\x00lease", "until", until, "owner", "another")
	g, err := store.AcquireLease(ctx, request(sdk.StrategyLease, "me", time.Hour))
	if g.OK || g.Remaining <= 0 || g.Remaining > time.Second || err != nil {
		t.Errorf("a lease of another until a second from now: %+v, %v", g, err)
	}
}

func TestAForeignHashIsALockThatNobodyHolds(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	store, seen := on(t, server), observer(t, server)
	ctx := within(t, patience)
	seen.HSet(ctx, "app:job\x00exclusive", "owner", "another", "until", "soon")
	if g, err := store.AcquireLease(ctx, request(sdk.StrategyExclusive, "me", time.Minute)); !g.OK || err != nil {
		t.Errorf("a lock without a readable end: %+v, %v", g, err)
	}
}

func TestAForeignRecordOfALockIsAnErrorThatNamesIt(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	store, seen := on(t, server), observer(t, server)
	ctx := within(t, patience)
	const name = "app:job\x00exclusive"
	r := request(sdk.StrategyExclusive, "me", time.Minute)
	for what, c := range map[string]struct {
		plant func() error
		all   bool // of the operations, not only of an acquisition
	}{
		"a string":                         {func() error { return seen.Set(ctx, name, "token", 0).Err() }, true},
		"a list":                           {func() error { return seen.LPush(ctx, name, "x").Err() }, true},
		"a hash whose fence is no number":  {func() error { return seen.HSet(ctx, name, "fence", "high").Err() }, false},
		"a hash whose fence is the last":   {func() error { return seen.HSet(ctx, name, "fence", uint64(math.MaxInt64)).Err() }, false},
		"a hash whose fence is a fraction": {func() error { return seen.HSet(ctx, name, "fence", "1.5").Err() }, false},
	} {
		seen.Del(ctx, name)
		if err := c.plant(); err != nil {
			t.Fatal(err)
		}
		operations := map[string]func() error{
			"acquire": func() error { _, err := store.AcquireLease(ctx, r); return err },
			"renew":   func() error { _, err := store.RenewLease(ctx, r); return err },
			"release": func() error { _, err := store.ReleaseLease(ctx, r); return err },
			"wait":    func() error { return store.WaitLease(ctx, r) },
		}
		for operation, do := range operations {
			err := do()
			if !c.all && operation != "acquire" {
				continue
			}
			if !errors.Is(err, sdk.ErrCorrupt) || errors.Is(err, sdk.ErrOverflow) || !strings.Contains(err.Error(), strconv.Quote(name)) {
				t.Errorf("%s of %s: %v; want ErrCorrupt that names it", operation, what, err)
			}
		}
	}
}

func TestAReleaseWakesWaitersOfAnotherStore(t *testing.T) {
	t.Parallel()
	cluster := servertest.StartCluster(t, servertest.ClusterOptions{})
	options := map[string]any{"cluster": map[string]any{"addrs": cluster.Addrs()}}
	holder, waiter := opened(t, options), opened(t, options)
	handOver(t, holder, waiter, 20)
}

// handOver passes a lock to and fro and returns how long that took each time.
func handOver(t testing.TB, holder, waiter *sdk.Instance, rounds int) (took []time.Duration) {
	t.Helper()
	ctx := within(t, 2*patience)
	mine, theirs := request(sdk.StrategyExclusive, "holder", time.Minute), request(sdk.StrategyExclusive, "waiter", time.Minute)
	for range rounds {
		if g, err := holder.AcquireLease(ctx, mine); !g.OK || err != nil {
			t.Fatalf("AcquireLease = %+v, %v", g, err)
		}
		entered := make(chan time.Time, 1)
		go func() {
			defer close(entered)
			for ctx.Err() == nil {
				if g, err := waiter.AcquireLease(ctx, theirs); g.OK && err == nil {
					entered <- time.Now()
					return
				}
				if err := waiter.WaitLease(ctx, theirs); err != nil {
					t.Errorf("WaitLease: %v", err)
				}
			}
		}()
		time.Sleep(10 * time.Millisecond) // so that the waiter waits
		released := time.Now()
		if ok, err := holder.ReleaseLease(ctx, mine); !ok || err != nil {
			t.Fatalf("ReleaseLease = %t, %v", ok, err)
		}
		at, ok := <-entered
		if !ok {
			t.Fatal("the waiter did not enter")
		}
		took = append(took, at.Sub(released))
		if ok, err := waiter.ReleaseLease(ctx, theirs); !ok || err != nil {
			t.Fatalf("ReleaseLease = %t, %v", ok, err)
		}
	}
	return took
}

func TestWaitersLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	store, seen := opened(t, map[string]any{"addr": proxy.Addr()}), observer(t, server)
	ctx := within(t, patience)
	var waiters sync.WaitGroup
	for i := range 1000 {
		r := request(sdk.StrategyExclusive, "holder", time.Minute)
		r.Key = fmt.Sprint("lock", i%100)
		if _, err := store.AcquireLease(ctx, r); err != nil {
			t.Fatal(err)
		}
		r.Owner = "waiter"
		waiters.Go(func() {
			given, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			if err := store.WaitLease(given, r); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("WaitLease: %v", err)
			}
		})
	}
	waiters.Wait()
	eventually(t, "the subscriptions end", func() error {
		if names := seen.PubSubChannels(ctx, "*").Val(); len(names) > 0 {
			return fmt.Errorf("there are %d", len(names))
		}
		return nil
	})
	eventually(t, "their connection ends", func() error {
		if n := seen.Do(ctx, "client", "list", "type", "pubsub").String(); len(n) > 60 {
			return errors.New(n)
		}
		return nil
	})
}

func TestWaitersWithoutASubscriptionPoll(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	command(t, observer(t, server), "acl", "setuser", "mute", "on", ">p", "~*", "resetchannels", "+@all")
	store := opened(t, map[string]any{"addr": server.Addr(), "username": "mute", "password": "p"})
	for _, took := range handOver(t, store, store, 3) {
		if took > 5*time.Second {
			t.Errorf("a hand-over took %v", took)
		}
	}
}

func TestWaitersNoticeThatTheServerComesBack(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"appendonly yes", "appendfsync always"}})
	store, other := on(t, server), on(t, server)
	handOver(t, store, other, 1)
	server.Restart(t)
	handOver(t, store, other, 3)
}
