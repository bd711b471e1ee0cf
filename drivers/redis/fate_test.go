package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

// A place is a server behind a proxy that can cut connections.
type place struct {
	name  string
	store *sdk.Instance
	cut   func(match string) *servertest.Trap // the next reply to a command that holds match
	heal  func()
}

// places are a single server and a Cluster, each behind proxies.
func places(t *testing.T) []place {
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	cluster := servertest.StartCluster(t, servertest.ClusterOptions{Proxied: true})
	cutCluster := func(match string) (trap *servertest.Trap) {
		for _, p := range cluster.Proxies {
			trap = p.CutReplies(match, 0)
		}
		return trap
	}
	return []place{
		{"one server", opened(t, map[string]any{"addr": proxy.Addr()}),
			func(match string) *servertest.Trap { return proxy.CutReplies(match, 0) },
			func() { proxy.Heal(t) }},
		{"a Cluster", opened(t, map[string]any{"cluster": map[string]any{"addrs": cluster.Addrs()}}),
			cutCluster,
			func() {
				for _, p := range cluster.Proxies {
					p.Heal(t)
				}
			}},
	}
}

func TestAWriteWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, p := range places(t) {
		ctx := within(t, patience)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
		}
		writes := []struct {
			name  string
			call  func(ctx context.Context, key string) error
			after string // what must be there when the call was executed exactly once
		}{
			{"Increment", func(ctx context.Context, key string) error {
				_, err := p.store.Increment(ctx, key, 1, sdk.NoExpiry)
				return err
			}, "11"},
			{"Increment with a TTL", func(ctx context.Context, key string) error {
				_, err := p.store.Increment(ctx, key, 1, time.Hour)
				return err
			}, "11"},
			{"Replace", func(ctx context.Context, key string) error {
				_, err := p.store.Replace(ctx, key, []byte("replaced"), sdk.NoExpiry)
				return err
			}, "replaced"},
			{"Pull", func(ctx context.Context, key string) error { _, _, err := p.store.Pull(ctx, key); return err }, ""},
			{"Add", func(ctx context.Context, key string) error {
				_, err := p.store.Add(ctx, key+":added", []byte("v"), sdk.NoExpiry)
				return err
			}, "10"},
		}
		for i, w := range writes {
			key := fmt.Sprintf("fate-%d", i)
			must(p.store.Set(ctx, key, []byte("10"), sdk.NoExpiry))
			_, err := p.store.Increment(ctx, key, 0, time.Hour) // so that the server knows the script
			must(err)
			p.cut(key)
			if err := w.call(ctx, key); !errors.Is(err, sdk.ErrMaybeApplied) || errors.Is(err, sdk.ErrUnavailable) {
				t.Errorf("%s: %s whose answer was cut: %v; want ErrMaybeApplied alone", p.name, w.name, err)
			}
			p.heal()
			value, _, err := p.store.Get(ctx, key)
			must(err)
			if string(value) != w.after {
				t.Errorf("%s: %s whose answer was cut leaves %q; want %q, what one execution leaves", p.name, w.name, value, w.after)
			}
		}
	}
}

func TestASafeCallWhoseAnswerIsLostIsRepeated(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	store := opened(t, map[string]any{"addr": proxy.Addr()})
	ctx := within(t, patience)
	lease := sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: "k", Owner: "o", Lease: time.Minute}
	calls := map[string]func() error{
		"Set":           func() error { return store.Set(ctx, "k", []byte("v"), sdk.NoExpiry) },
		"Get":           func() error { _, _, err := store.Get(ctx, "k"); return err },
		"Delete":        func() error { _, err := store.Delete(ctx, "k"); return err },
		"CompareDelete": func() error { _, err := store.CompareDelete(ctx, "k", []byte("v")); return err },
		"TTL":           func() error { _, _, err := store.TTL(ctx, "k"); return err },
		"Touch":         func() error { _, err := store.Touch(ctx, "k", time.Hour); return err },
		"GetMany":       func() error { _, err := store.GetMany(ctx, []string{"k", "l"}); return err },
		"SetMany":       func() error { return store.SetMany(ctx, []sdk.Entry{{Key: "k"}, {Key: "l"}}) },
		"DeleteMany":    func() error { _, err := store.DeleteMany(ctx, []string{"k", "l"}); return err },
		"Keys":          func() error { _, _, err := store.Keys(ctx, "k", nil, 10); return err },
		"Clear":         func() error { _, _, err := store.Clear(ctx, "k", nil); return err },
		"Ping":          func() error { return store.Ping(ctx) },
		"AcquireLease":  func() error { _, err := store.AcquireLease(ctx, lease); return err },
		"RenewLease":    func() error { _, err := store.RenewLease(ctx, lease); return err },
		"ReleaseLease":  func() error { _, err := store.ReleaseLease(ctx, lease); return err },
	}
	for name, call := range calls {
		match := "$1\r\nk" // the key
		switch {
		case name == "Ping":
			match = "ping"
		case name == "Keys" || name == "Clear":
			match = "scan"
		case strings.HasSuffix(name, "Lease"):
			match = "exclusive"
		}
		trap := proxy.CutNextReply(match, 0)
		if err := call(); err != nil {
			t.Errorf("%s whose answer was cut once: %v", name, err)
		}
		if trap.Count() == 0 {
			t.Errorf("%s: no answer was cut", name)
		}
		proxy.Heal(t)
	}
}

func TestAWriteThatIsGivenUpSaysThatItMayHaveHappened(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	store := opened(t, map[string]any{"addr": proxy.Addr(), "stall_timeout": "20s"})
	ctx := within(t, patience)
	if err := store.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	calls := []struct {
		name  string
		write bool
		call  func(ctx context.Context) error
	}{
		{"Set", true, func(ctx context.Context) error { return store.Set(ctx, "held", []byte("v"), sdk.NoExpiry) }},
		{"a large Set", true, func(ctx context.Context) error { return store.Set(ctx, "held", make([]byte, 1<<20), sdk.NoExpiry) }},
		{"Increment", true, func(ctx context.Context) error { _, err := store.Increment(ctx, "held", 1, sdk.NoExpiry); return err }},
		{"SetMany", true, func(ctx context.Context) error { return store.SetMany(ctx, []sdk.Entry{{Key: "held"}}) }},
		{"Get", false, func(ctx context.Context) error { _, _, err := store.Get(ctx, "held"); return err }},
		{"GetMany", false, func(ctx context.Context) error { _, err := store.GetMany(ctx, []string{"held"}); return err }},
		{"Keys", false, func(ctx context.Context) error { _, _, err := store.Keys(ctx, "held", nil, 1); return err }},
	}
	for _, c := range calls {
		for want, give := range map[error]func(held <-chan struct{}) (context.Context, context.CancelFunc){
			context.Canceled: func(held <-chan struct{}) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				go func() { <-held; cancel() }()
				return ctx, cancel
			},
			context.DeadlineExceeded: func(<-chan struct{}) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 100*time.Millisecond)
			},
		} {
			trap := proxy.HoldReplies("held")
			given, giveUp := give(trap.Sprung())
			start := time.Now()
			err := c.call(given)
			took := time.Since(start)
			giveUp()
			executed := trap.Count() > 0 // on a slow machine the time may be over before
			if !errors.Is(err, want) || errors.Is(err, sdk.ErrMaybeApplied) != c.write && executed {
				t.Errorf("%s: %v; want %v, and ErrMaybeApplied: %t", c.name, err, want, c.write)
			}
			if took > 10*time.Second {
				t.Errorf("%s: it returned after %v", c.name, took)
			}
			proxy.Heal(t)
		}
	}
	if err := store.Set(ctx, "held", []byte("v"), sdk.NoExpiry); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// Calls that share a pipeline are given up one by one.
func TestOneOfManyCanBeGivenUp(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	store := opened(t, map[string]any{"addr": proxy.Addr(), "pipelines": 1})
	ctx := within(t, patience)
	if err := store.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	proxy.Stall()
	const callers = 50
	impatient, giveUp := context.WithCancel(ctx)
	results := make(chan error, callers)
	for i := range callers {
		given := ctx
		if i%2 == 0 {
			given = impatient
		}
		go func() { results <- store.Set(given, fmt.Sprint("k", i), []byte("v"), sdk.NoExpiry) }()
	}
	time.AfterFunc(50*time.Millisecond, giveUp)
	for range callers / 2 {
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that gave up: %v", err)
		}
	}
	proxy.Heal(t)
	for range callers / 2 {
		if err := <-results; err != nil {
			t.Errorf("a caller that did not give up: %v", err)
		}
	}
}

func TestAnIdleConnectionThatEndedCostsNothing(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	store := opened(t, map[string]any{"addr": proxy.Addr()})
	ctx := within(t, patience)
	for i := range 20 {
		sum, err := store.Increment(ctx, "k", 1, sdk.NoExpiry)
		if sum != int64(i+1) || err != nil {
			t.Fatalf("Increment after a reset of the idle connection = %d, %v", sum, err)
		}
		proxy.Reset()
		eventually(t, "the connection ends", func() error {
			if n := proxy.Connections(); n > 0 {
				return fmt.Errorf("%d are open", n)
			}
			return nil
		})
		time.Sleep(5 * time.Millisecond) // until the reset has arrived
	}
}
