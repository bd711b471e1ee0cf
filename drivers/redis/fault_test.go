package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func TestAReplicaTakesNoWritesUntilItIsPromoted(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"replica-read-only yes"}})
	store, admin := on(t, server), observer(t, server)
	ctx := within(t, patience)
	if err := store.Set(ctx, "k", []byte("v"), sdk.NoExpiry); err != nil {
		t.Fatal(err)
	}
	command(t, admin, "replicaof", "127.0.0.1", "1")
	if value, _, err := store.Get(ctx, "k"); string(value) != "v" || err != nil {
		t.Errorf("Get from a replica = %q, %v", value, err)
	}
	for name, write := range map[string]func() error{
		"Set":       func() error { return store.Set(ctx, "k", []byte("w"), sdk.NoExpiry) },
		"Increment": func() error { _, err := store.Increment(ctx, "n", 1, time.Hour); return err },
		"a lease": func() error {
			_, err := store.AcquireLease(ctx, sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: "k", Owner: "o", Lease: time.Minute})
			return err
		},
	} {
		if err := write(); !errors.Is(err, sdk.ErrUnavailable) || errors.Is(err, sdk.ErrMaybeApplied) {
			t.Errorf("%s on a replica: %v; want ErrUnavailable, since nothing was applied", name, err)
		}
	}

	promoted := time.AfterFunc(20*time.Millisecond, func() { admin.Do(context.Background(), "replicaof", "no", "one") })
	defer promoted.Stop()
	if sum, err := store.Increment(ctx, "n", 1, sdk.NoExpiry); sum != 1 || err != nil {
		t.Errorf("Increment while the replica is promoted = %d, %v; want it to be tried again", sum, err)
	}
}

func TestCallsEndWhileAServerLoadsAndWorkAfterwards(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"enable-debug-command yes"}})
	store, admin := on(t, server), observer(t, server)
	ctx := within(t, patience)
	command(t, admin, "debug", "populate", 200, "filler", 4096)
	if err := store.Set(ctx, "k", []byte("v"), sdk.NoExpiry); err != nil {
		t.Fatal(err)
	}
	command(t, admin, "config", "set", "key-load-delay", "10000", "loading-process-events-interval-bytes", "1024")
	reloaded := make(chan error, 1)
	go func() { reloaded <- admin.Do(ctx, "debug", "reload").Err() }()

	loading := 0
	for done := false; !done; {
		select {
		case err := <-reloaded:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
			_, _, err := store.Get(ctx, "k")
			if err != nil && (!errors.Is(err, sdk.ErrUnavailable) || !strings.Contains(err.Error(), "LOADING")) {
				t.Errorf("Get while the server loads: %v; want ErrUnavailable with the reason", err)
			}
			if err != nil {
				loading++
			}
		}
	}
	if loading == 0 {
		t.Error("no call met the server while it loaded")
	}
	if value, _, err := store.Get(ctx, "k"); string(value) != "v" || err != nil {
		t.Errorf("Get after the server has loaded = %q, %v", value, err)
	}
}

func TestAFullServerSaysSo(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"maxmemory 4mb", "maxmemory-policy noeviction"}})
	store := on(t, server)
	ctx := within(t, patience)
	var full error
	for i := 0; full == nil && i < 1000; i++ {
		full = store.Set(ctx, fmt.Sprint("k", i), make([]byte, 16<<10), sdk.NoExpiry)
	}
	if full == nil || !strings.Contains(full.Error(), "maxmemory") || errors.Is(full, sdk.ErrMaybeApplied) || errors.Is(full, sdk.ErrUnavailable) {
		t.Errorf("a full server: %v; want the reason and what to do", full)
	}
	if _, err := store.Increment(ctx, "n", 1, time.Hour); err == nil || errors.Is(err, sdk.ErrMaybeApplied) {
		t.Errorf("Increment on a full server: %v", err)
	}
	if _, ok, err := store.Get(ctx, "k0"); !ok || err != nil {
		t.Errorf("Get on a full server = %t, %v", ok, err)
	}
	for i := range 50 {
		if existed, err := store.Delete(ctx, fmt.Sprint("k", i)); !existed || err != nil {
			t.Fatalf("Delete on a full server = %t, %v", existed, err)
		}
	}
	eventually(t, "there is room again", func() error { return store.Set(ctx, "k", []byte("v"), sdk.NoExpiry) })
}

func TestScriptsSurviveThatTheServerForgetsThem(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	store, admin := on(t, server), observer(t, server)
	ctx := within(t, patience)
	lease := sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: "k", Owner: "o", Lease: time.Minute}
	for i := range 3 {
		if sum, err := store.Increment(ctx, "n", 1, time.Hour); sum != int64(i+1) || err != nil {
			t.Fatalf("Increment = %d, %v", sum, err)
		}
		if g, err := store.AcquireLease(ctx, lease); !g.OK || err != nil {
			t.Fatalf("AcquireLease = %+v, %v", g, err)
		}
		command(t, admin, "script", "flush")
		if g, err := store.RenewLease(ctx, lease); !g.OK || err != nil {
			t.Fatalf("RenewLease = %+v, %v", g, err)
		}
		command(t, admin, "script", "flush")
		if ok, err := store.ReleaseLease(ctx, lease); !ok || err != nil {
			t.Fatalf("ReleaseLease = %t, %v", ok, err)
		}
		if err := store.Set(ctx, "k", []byte("v"), sdk.NoExpiry); err != nil {
			t.Fatal(err)
		}
		if ok, err := store.CompareDelete(ctx, "k", []byte("v")); !ok || err != nil {
			t.Fatalf("CompareDelete = %t, %v", ok, err)
		}
		if _, err := store.Touch(ctx, "n", sdk.NoExpiry); err != nil {
			t.Fatal(err)
		}
	}
}

// A tally counts what became of increments.
type tally struct {
	done, maybe, not atomic.Int64
	strange          atomic.Pointer[string]
}

// count increments key until ctx ends.
func (c *tally) count(ctx context.Context, store *sdk.Instance, key string) {
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		_, err := store.Increment(call, key, 1, sdk.NoExpiry)
		cancel()
		switch {
		case err == nil:
			c.done.Add(1)
		case errors.Is(err, sdk.ErrMaybeApplied):
			c.maybe.Add(1)
		case errors.Is(err, sdk.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
			c.not.Add(1)
		default:
			text := err.Error()
			c.strange.Store(&text)
		}
	}
}

// holds fails unless sum is what the tally allows.
func (c *tally) holds(t *testing.T, sum int64) {
	t.Helper()
	done, maybe := c.done.Load(), c.maybe.Load()
	t.Logf("%d increments done, %d perhaps, %d not; the sum is %d", done, maybe, c.not.Load(), sum)
	if sum < done || sum > done+maybe {
		t.Errorf("a sum of %d after %d increments that were done and %d that may have been", sum, done, maybe)
	}
	if text := c.strange.Load(); text != nil {
		t.Errorf("an increment failed with: %s", *text)
	}
}

// load runs callers until stop is called, which waits for them.
func load(ctx context.Context, callers int, call func(ctx context.Context, i int)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	for i := range callers {
		working.Go(func() { call(ctx, i) })
	}
	return func() {
		cancel()
		working.Wait()
	}
}

func TestARestartUnderLoadLosesNothingThatWasDone(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"appendonly yes", "appendfsync always"}})
	store := on(t, server)
	ctx := within(t, patience)
	var c tally
	stop := load(ctx, 16, func(ctx context.Context, _ int) { c.count(ctx, store, "n") })
	for range 3 {
		moment(t, &c)
		server.Kill(t)
		server.Start(t)
	}
	moment(t, &c)
	stop()
	sum, err := store.Increment(ctx, "n", 0, sdk.NoExpiry)
	if err != nil {
		t.Fatal(err)
	}
	c.holds(t, sum)
}

// moment waits until more increments have been done.
func moment(t *testing.T, c *tally) {
	t.Helper()
	before := c.done.Load()
	eventually(t, "calls work", func() error {
		if n := c.done.Load() - before; n < 200 {
			return fmt.Errorf("%d were done", n)
		}
		return nil
	})
}

func TestAServerThatIsDownFailsCallsSoonAndComesBack(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	store := on(t, server)
	ctx := within(t, patience)
	if err := store.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	server.Stop(t)
	for name, call := range map[string]func() error{
		"Get":       func() error { _, _, err := store.Get(ctx, "k"); return err },
		"Set":       func() error { return store.Set(ctx, "k", []byte("v"), sdk.NoExpiry) },
		"Increment": func() error { _, err := store.Increment(ctx, "k", 1, sdk.NoExpiry); return err },
		"Keys":      func() error { _, _, err := store.Keys(ctx, "k", nil, 1); return err },
	} {
		start := time.Now()
		if err := call(); !errors.Is(err, sdk.ErrUnavailable) || errors.Is(err, sdk.ErrMaybeApplied) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s without a server: %v; want ErrUnavailable", name, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s without a server took %v", name, took)
		}
	}
	server.Start(t)
	if err := store.Set(ctx, "k", []byte("v"), sdk.NoExpiry); err != nil {
		t.Errorf("Set after the server has come back: %v", err)
	}
}

func TestASilentServerCostsTheStallTimeoutAndNoMore(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	store := opened(t, map[string]any{"addr": proxy.Addr(), "stall_timeout": "200ms", "dial_timeout": "200ms"})
	ctx := within(t, patience)
	if err := store.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	proxy.HoldReplies("silent")
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, _, err := store.Get(short, "silent"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), proxy.Addr()) {
		t.Errorf("Get that has less time than the stall timeout: %v; want the server's address", err)
	}
	start := time.Now()
	if _, _, err := store.Get(ctx, "silent"); !errors.Is(err, sdk.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get from a silent server: %v; want ErrUnavailable", err)
	}
	if _, err := store.Increment(ctx, "silent", 1, sdk.NoExpiry); !errors.Is(err, sdk.ErrMaybeApplied) {
		t.Errorf("Increment on a silent server: %v; want ErrMaybeApplied", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("two calls took %v under a stall_timeout of 200ms", took)
	}
	// A half-open connection is one of which the other end has gone, and new
	// ones work.
	if err := store.Set(ctx, "another", []byte("v"), sdk.NoExpiry); err != nil {
		t.Errorf("Set beside silent connections: %v", err)
	}
	server.Freeze(t)
	start = time.Now()
	if _, _, err := store.Get(ctx, "k"); !errors.Is(err, sdk.ErrUnavailable) {
		t.Errorf("Get from a frozen server: %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("Get from a frozen server took %v", took)
	}
	server.Thaw(t)
	proxy.Heal(t)
	eventually(t, "the server answers again", func() error { _, _, err := store.Get(ctx, "k"); return err })
}

func TestALargeValueDoesNotHoldSmallOnesUp(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	store := opened(t, map[string]any{"addr": proxy.Addr(), "pipelines": 1})
	ctx := within(t, patience)
	if err := store.Set(ctx, "large", make([]byte, 2<<20), sdk.NoExpiry); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Get(ctx, "large"); err != nil { // from now on it is known to be large
		t.Fatal(err)
	}
	proxy.Bandwidth(1 << 20)
	slow := make(chan error, 2)
	go func() { _, _, err := store.Get(ctx, "large"); slow <- err }()
	go func() { slow <- store.Set(ctx, "large", make([]byte, 2<<20), sdk.NoExpiry) }()
	for range 20 {
		start := time.Now()
		if err := store.Set(ctx, "small", []byte("v"), sdk.NoExpiry); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("a small Set took %v beside large values", took)
		}
	}
	select {
	case err := <-slow:
		t.Fatalf("the large calls were not slow: %v", err)
	default:
	}
	proxy.Heal(t)
	for range 2 {
		if err := <-slow; err != nil {
			t.Error(err)
		}
	}
}

func TestClosedStoresLeaveNoConnection(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	store := opened(t, map[string]any{"addr": proxy.Addr()})
	ctx := within(t, patience)
	stop := load(ctx, 16, func(ctx context.Context, i int) {
		for ctx.Err() == nil {
			store.Set(ctx, fmt.Sprint("k", i), make([]byte, 40<<10*(i%2)), sdk.NoExpiry)
			given, cancel := context.WithTimeout(ctx, time.Millisecond)
			store.Get(given, "k")
			cancel()
		}
	})
	time.Sleep(100 * time.Millisecond)
	stop()
	if err := store.Close(ctx); err != nil {
		t.Fatal(err)
	}
	eventually(t, "every connection is closed", func() error {
		if n := proxy.Connections(); n > 0 {
			return fmt.Errorf("%d are open", n)
		}
		return nil
	})
	if _, _, err := store.Get(ctx, "k"); !errors.Is(err, sdk.ErrClosed) {
		t.Errorf("Get from a closed store: %v", err)
	}
}
