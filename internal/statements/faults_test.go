package statements

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
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
func behind(t *testing.T, kind string, change func(*cache.StoreConfig), opts ...cache.Option) (*cache.CacheManager, *servertest.Proxy) {
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
	m := open(t, c, opts...)
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

// everyEnd is every way in which a block can end, with the server gone.
var everyEnd = []struct {
	how   string
	end   func(failed error) error
	panic bool
}{
	{"without error", func(error) error { return nil }, false},
	{"with an error", func(failed error) error { return failed }, false},
	{"in a panic", func(failed error) error { panic(failed) }, true},
}

func TestS100AReleaseThatFailsIsJoinedToTheBlocksError(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"database", "redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			log := &sharedText{}
			m, proxy := behind(t, kind, nil, cache.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
			for _, c := range everyEnd {
				failed := errors.New("the block failed")
				begin := len(log.String())
				panicked, err := ends(m.Lock("k"), func() error { proxy.Refuse(); return c.end(failed) })
				proxy.Heal(t)
				logged := strings.Contains(log.String()[begin:], "lock not released")
				switch unreleased := errors.Is(err, cache.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded); {
				case c.panic && (panicked != failed || !logged): //nolint:errorlint // it has to be the very value
					t.Errorf("%s: panicked with %v; the log: %s", c.how, panicked, log)
				case !c.panic && (!unreleased || panicked != nil || logged):
					t.Errorf("%s: Do: %v, panic %v; want the release's error", c.how, err, panicked)
				case !c.panic && errors.Is(err, failed) != (c.end(failed) != nil):
					t.Errorf("%s: Do: %v; want the block's error beside the release's", c.how, err)
				}
				key := strings.ReplaceAll(t.Name(), "/", ".") + ":k" // which stays until its lease ends
				forget(t, kind, key)
			}
		})
	}
}

// ends runs a block under a lock, and tells an error from a panic.
func ends(l *cache.CacheLock, block func() error) (panicked any, err error) {
	defer func() { panicked = recover() }()
	return nil, l.Do(context.Background(), func(context.Context) error { return block() })
}

// forget removes a lock that could not be released.
func forget(t *testing.T, kind, physical string) {
	t.Helper()
	if kind == "database" {
		execute(t, postgres(t), `DELETE FROM `+lockTable+` WHERE key = $1`, physical)
		return
	}
	if err := redisClient(t).Del(t.Context(), physical+"-lock").Err(); err != nil {
		t.Fatal(err)
	}
}

// A sharedText is a log that may be read while it is written.
type sharedText struct {
	mu   sync.Mutex // guards below
	text strings.Builder
}

func (s *sharedText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *sharedText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// A server that stands still holds up a release no longer than its bound.
func TestS93AReleaseThatIsHeldUpEndsByItself(t *testing.T) {
	t.Parallel()
	const bound = 10 * time.Second
	for _, kind := range []string{"database", "redis"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m, proxy := behind(t, kind, nil)
			failed := errors.New("the block failed")
			var left time.Time
			err := m.Lock("k").Do(t.Context(), func(context.Context) error { proxy.Stall(); left = time.Now(); return failed })
			took := time.Since(left)
			proxy.Heal(t)
			if !errors.Is(err, failed) || !(errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cache.ErrMaybeApplied)) {
				t.Errorf("Do: %v; want the block's error and the release's", err)
			}
			if took > bound+5*time.Second {
				t.Errorf("Do returned after %v; a release takes %v at most", took, bound)
			}
		})
	}
}

func TestS99AHostThatDiesLeavesItsLeases(t *testing.T) {
	t.Parallel()
	for how, die := range map[string]func(*host){"killed": (*host).kill, "by os.Exit": (*host).exits} {
		for _, kind := range leased {
			t.Run(kind+" "+how, func(t *testing.T) {
				t.Parallel()
				hostDies(t, kind, die)
			})
		}
		t.Run("local "+how, func(t *testing.T) {
			t.Parallel()
			c := hostConfig(t, "file", cache.LockConfig{Strategy: sdk.StrategyLocal})
			h := startHost(t, "holder", c)
			h.expect("inside")
			die(h)
			h = startHost(t, "holder", c)
			h.expect("inside")
			h.say("leave")
			h.expect("<nil>")
		})
	}
}

// hostDies has a host die inside the lock, whose lease of two seconds outlasts
// it everywhere but in the memory of its own driver.
func hostDies(t *testing.T, kind string, die func(*host)) {
	const lease = 2 * time.Second
	c := hostConfig(t, kind, lasts(lease))
	m := open(t, c)
	if err := m.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := startHost(t, "holder", c)
	asked := time.Now()
	h.expect("inside")
	die(h)
	if kind == "memory" {
		free(t, store(t, m, "main"), sdk.StrategyRedlock, "k")
		return
	}
	strategy := sdk.StrategyRedlock
	if kind == "database" {
		strategy = sdk.StrategyLease
	}
	there := func() bool { return isFree(t, store(t, m, "main"), strategy, "k") != nil }
	if !there() && time.Since(asked) < lease {
		t.Error("the lock went with its host")
	}
	eventually(t, "the lease ends", func() bool { return !there() })
	enters(t, m, "k")
}
