package statements

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	goredis "github.com/redis/go-redis/v9"
)

// ownRedis is a server that one test may stop, fill and watch, and a client
// that knows nothing of any store.
func ownRedis(t *testing.T) (*servertest.Redis, *goredis.Client) {
	t.Helper()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Socket()})
	t.Cleanup(func() { client.Close() })
	return server, client
}

// redisStore is a store on a server, under the prefix p.
func redisStore(server *servertest.Redis) cache.StoreConfig {
	p := "p"
	return cache.StoreConfig{Driver: "redis", Prefix: &p, Timeout: hangGuard, Options: map[string]any{"addr": server.Addr()}}
}

func TestS7BuildingLocksNeedsNeitherDriverNorServer(t *testing.T) {
	t.Parallel()
	server, client := ownRedis(t)
	server.Stop(t)
	own := servertest.StartPostgres(t, servertest.PostgresOptions{})
	own.Stop(t)
	c := cache.Config{Default: "redis", Stores: map[string]cache.StoreConfig{
		"redis":    redisStore(server),
		"database": {Driver: "database", Timeout: hangGuard, Options: map[string]any{"dsn": own.URL("")}},
	}}
	m := open(t, c)
	for name := range c.Stores {
		r := store(t, m, name)
		for i := range 1000 {
			r.Lock(fmt.Sprint("built ", i))
		}
	}
	for _, d := range m.Drivers() {
		if d.PID != 0 {
			t.Errorf("building locks started driver %s as process %d", d.Name, d.PID)
		}
	}
	server.Start(t)
	own.Start(t)
	for name := range c.Stores {
		enters(t, store(t, m, name), "built 7")
	}
	if keys := client.Keys(t.Context(), "*").Val(); len(keys) != 0 {
		t.Errorf("keys %q are there", keys)
	}
	conn := connect(t, own.URL(""))
	if n := ask[int](t, conn, `SELECT count(*) FROM cache_locks`); n != 0 {
		t.Errorf("%d lock rows are there", n)
	}
}

func TestS36RedlockAsksOneServerOnly(t *testing.T) {
	t.Parallel()
	one, oneClient := ownRedis(t)
	two, _ := ownRedis(t)
	c := cache.Config{Default: "one", Stores: map[string]cache.StoreConfig{"one": redisStore(one), "two": redisStore(two)}}
	m := open(t, c)
	if err := store(t, m, "two").Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, second := watchServer(t, one), watchServer(t, two)
	leave := hold(t, m.Lock("k", cache.LockTimeout(time.Hour)))
	h := startHost(t, "holder", c)
	h.expect("inside") // while this process holds it
	if oneClient.Exists(t.Context(), "p:k-lock").Val() != 1 {
		t.Error("there is no key while two are inside")
	}
	h.say("leave")
	h.expect("<nil>")
	if err := leave(); err != nil {
		t.Error(err)
	}
	if sets := matching(first.seen("p:k-lock"), "set "); len(sets) != 2 {
		t.Errorf("two entries made %q on their server", sets)
	}
	if commands := second.seen("k-lock"); len(commands) != 0 {
		t.Errorf("the second server was asked for %q", commands)
	}
}

// Two stores have equal prefixes and keys on two servers. Whose holder leaves
// lets in only those who wait for it.
func TestS74AReleaseWakesNobodyOfAnotherServer(t *testing.T) {
	t.Parallel()
	one, clientOne := ownRedis(t)
	two, clientTwo := ownRedis(t)
	m := open(t, cache.Config{Default: "one", Stores: map[string]cache.StoreConfig{"one": redisStore(one), "two": redisStore(two)}})
	places := []*rivalPlace{
		{r: store(t, m, "one"), client: clientOne},
		{r: store(t, m, "two"), client: clientTwo},
	}
	for round := range 1000 {
		key := fmt.Sprint("k", round%7)
		for _, p := range places {
			p.begin(t, key)
		}
		time.Sleep(time.Duration(round%3) * time.Millisecond) // mostly they wait by then; who doesn't takes the lock itself
		for i := range places {
			places[(i+round)%2].end(t)
		}
	}
	for _, p := range places {
		t.Logf("%d of 1000 waiters of %s waited", p.waited.Load(), p.r.Name())
		if p.waited.Load() == 0 {
			t.Errorf("nobody waited for a lock of %s", p.r.Name())
		}
		if err := p.client.Set(t.Context(), "p:planted-lock", "another's", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		enters(t, p.r, "planted") // nothing of this process is to be waited for, and nobody is woken at its end
	}
}

// A rivalPlace is one lock of one server, with a holder and a waiter.
type rivalPlace struct {
	r      *cache.CacheRepository
	client *goredis.Client

	leave  func() error
	left   atomic.Bool
	done   chan error
	waited atomic.Int32
}

func (p *rivalPlace) begin(t *testing.T, key string) {
	t.Helper()
	p.left.Store(false)
	p.leave, p.done = hold(t, p.r.Lock(key, cache.LockTimeout(time.Hour))), make(chan error, 1)
	go func() {
		p.done <- p.r.Lock(key, cache.LockTimeout(time.Hour)).Do(context.Background(), func(ctx context.Context) error {
			if !p.left.Load() {
				return fmt.Errorf("%s: a waiter entered before its holder left", p.r.Name())
			}
			if p.client.Exists(ctx, "p:"+key+"-lock").Val() == 0 { // it waited, and took no key
				p.waited.Add(1)
			}
			return nil
		})
	}()
}

func (p *rivalPlace) end(t *testing.T) {
	t.Helper()
	p.left.Store(true)
	for _, err := range []error{p.leave(), <-p.done} {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestS89RedlockAbsorbsNoFailureOfItsServer(t *testing.T) {
	t.Parallel()
	server, client := ownRedis(t)
	r := store(t, open(t, cache.Config{Default: "main", Stores: map[string]cache.StoreConfig{"main": redisStore(server)}}), "main")
	refused := func(what, key, why string, matches error) {
		t.Helper()
		err := r.Lock(key, cache.LockStrategy(sdk.StrategyRedlock)).Do(t.Context(), mustNotRun(t))
		if err == nil || !strings.Contains(err.Error(), why) || errors.Is(err, cache.ErrLockTimeout) || matches != nil && !errors.Is(err, matches) {
			t.Errorf("%s: %v", what, err)
		}
	}
	enters(t, r, "k")
	refused("an invalid key", "a\x00b", "", cache.ErrInvalidKey)
	if err := client.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	refused("a full server", "k", "OOM", nil)
	if err := client.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	enters(t, r, "k")
	server.Stop(t)
	refused("a server that is down", "k", "", cache.ErrUnavailable)
	server.Start(t)
	enters(t, r, "k")
}

// matching are the commands that begin with a word.
func matching(commands []string, begin string) (found []string) {
	for _, c := range commands {
		if strings.HasPrefix(c, begin) {
			found = append(found, c)
		}
	}
	return found
}
