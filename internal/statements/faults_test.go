package statements

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

// A reach is a kind of server, and how to see whether a lock is there.
type reach struct {
	kind  string
	there func(t *testing.T, physical string) bool
}

var reaches = []reach{
	{"database", func(t *testing.T, physical string) bool { return rows(t, postgres(t), physical) > 0 }},
	{"redis", func(t *testing.T, physical string) bool {
		return redisClient(t).Exists(t.Context(), physical+"-lock").Val() > 0
	}},
}

// behind opens a store whose server is reached through a proxy.
func behind(t *testing.T, kind string, change func(*cache.StoreConfig)) (*cache.CacheManager, *servertest.Proxy) {
	t.Helper()
	c := hostConfig(t, kind, cache.LockConfig{})
	s := c.Stores["main"]
	var proxy *servertest.Proxy
	switch kind {
	case "redis":
		proxy = servertest.StartProxy(t, "tcp", redisServer(t).Addr())
		s.Options["addr"] = proxy.Addr()
	case "database":
		server := postgresServer(t)
		proxy = servertest.StartProxy(t, "tcp", server.Addr())
		s.Options["dsn"] = strings.Replace(server.URL(""), server.Addr(), proxy.Addr(), 1)
	}
	if change != nil {
		change(&s)
	}
	c.Stores["main"] = s
	m := open(t, c)
	if err := m.Set(t.Context(), "warm", 1, time.Hour); err != nil {
		t.Fatal(err)
	}
	enters(t, m, "warm")
	return m, proxy
}

func TestS44AndS89ASilentServerIsAnErrorAndNoLockTimeout(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"database", "redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m, proxy := behind(t, kind, func(s *cache.StoreConfig) { s.Timeout = 500 * time.Millisecond })
			proxy.Stall()
			err := m.Lock("k", cache.LockTimeout(time.Hour)).Do(t.Context(), mustNotRun(t))
			proxy.Heal(t)
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cache.ErrLockTimeout) {
				t.Errorf("Do: %v; want the call's deadline, and no ErrLockTimeout", err)
			}
		})
	}
}

func TestS94AnAcquisitionThatIsLateIsGivenBack(t *testing.T) {
	t.Parallel()
	for _, r := range reaches {
		t.Run(r.kind, func(t *testing.T) {
			t.Parallel()
			m, proxy := behind(t, r.kind, nil)
			physical := strings.ReplaceAll(t.Name(), "/", ".") + ":late"
			held := proxy.HoldReplies(physical)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- m.Lock("late", cache.LockTimeout(time.Hour)).Do(ctx, mustNotRun(t)) }()
			<-held.Sprung()
			eventually(t, "the lock is taken", func() bool { return r.there(t, physical) })
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("Do: %v", err)
			}
			proxy.Heal(t)
			eventually(t, "the lock is given back", func() bool { return !r.there(t, physical) })
		})
	}
}

func TestS100AReleaseThatFailsIsJoinedToTheBlocksError(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"database", "redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m, proxy := behind(t, kind, nil)
			failed := errors.New("the block failed")
			err := m.Lock("k").Do(t.Context(), func(context.Context) error { proxy.Refuse(); return failed })
			if !errors.Is(err, failed) || !(errors.Is(err, cache.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)) {
				t.Errorf("Do: %v; want the block's error and the release's", err)
			}
			proxy.Heal(t)
		})
	}
}

func TestS99AKilledHostLeavesItsLeases(t *testing.T) {
	t.Parallel()
	for _, kind := range leased {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := hostConfig(t, kind, lasts(2*time.Second))
			m := open(t, c)
			h := startHost(t, "holder", c)
			h.expect("inside")
			h.kill()
			start := time.Now()
			if kind == "memory" {
				enters(t, m, "k")
				return
			}
			there := func() bool {
				if kind == "database" {
					return m.Lock("k", cache.LockTimeout(0)).Do(t.Context(), nothing) != nil
				}
				ok, err := m.Has(t.Context(), "k-lock")
				return ok || err != nil
			}
			if !there() && time.Since(start) < time.Second {
				t.Error("the lock went with its host")
			}
			eventually(t, "the lease ends", func() bool { return !there() })
			enters(t, m, "k")
		})
	}
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		c := hostConfig(t, "file", cache.LockConfig{Strategy: sdk.StrategyLocal})
		h := startHost(t, "holder", c)
		h.expect("inside")
		h.kill()
		h = startHost(t, "holder", c)
		h.expect("inside")
		h.say("leave")
		h.expect("<nil>")
	})
}
