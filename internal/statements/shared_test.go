package statements

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"
)

// kinds are the five drivers.
var kinds = []string{"file", "memory", "redis", "database", "memcached"}

// lockTable is the lock table of all database stores here but those that a test
// gives their own.
const lockTable = `app."My Locks"`

// shared is what all tests use together: one server of each kind, and one
// manager for each driver, with the stores main (prefix p) and other (prefix q).
var shared = &commons{managers: make(map[string]*cache.CacheManager)}

type commons struct {
	mu       sync.Mutex
	cleanups []func()
	redis    *servertest.Redis
	postgres *servertest.Postgres
	memcache *servertest.Memcached
	dirs     string
	managers map[string]*cache.CacheManager
}

// A lasting is a testing.TB for what the first test that needs it starts, and
// the last one ends.
type lasting struct {
	testing.TB
	commons *commons
}

func (l lasting) Cleanup(f func())             { l.commons.cleanups = append(l.commons.cleanups, f) }
func (l lasting) Failed() bool                 { return false }
func (l lasting) Helper()                      {}
func (l lasting) Logf(text string, a ...any)   { fmt.Fprintf(os.Stderr, text+"\n", a...) }
func (l lasting) Errorf(text string, a ...any) { l.Logf(text, a...) }

// end ends everything, the last first.
func (c *commons) end() {
	for i := len(c.cleanups) - 1; i >= 0; i-- {
		c.cleanups[i]()
	}
}

// on returns the stores main and other of a driver.
func on(t *testing.T, kind string) (main, other *cache.CacheRepository) {
	t.Helper()
	m := shared.manager(t, kind)
	return store(t, m, "main"), store(t, m, "other")
}

func (c *commons) manager(t *testing.T, kind string) *cache.CacheManager {
	t.Helper()
	options := optionsOf(t, kind)
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.managers[kind]; m != nil {
		return m
	}
	p, q := "p", "q"
	m, err := cache.OpenConfig(context.Background(), cache.Config{Default: "main", Stores: map[string]cache.StoreConfig{
		"main":  {Driver: kind, Prefix: &p, Timeout: hangGuard, Options: options},
		"other": {Driver: kind, Prefix: &q, Timeout: hangGuard, Options: options},
	}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	c.cleanups = append(c.cleanups, func() { _ = m.Close(context.Background()) })
	c.managers[kind] = m
	return m
}

// quiet keeps the drivers' comings and goings out of the tests' output.
var quiet = cache.WithLogger(slog.New(slog.DiscardHandler))

// optionsOf are the options of a store of a kind, whose server runs.
func optionsOf(t *testing.T, kind string) map[string]any {
	t.Helper()
	switch kind {
	case "file":
		return map[string]any{"path": shared.dir(t)}
	case "redis":
		return map[string]any{"addr": redisServer(t).Addr()}
	case "database":
		return map[string]any{"dsn": postgresServer(t).URL(""), "lock_table": lockTable}
	case "memcached":
		return map[string]any{"servers": []any{memcachedServer(t).Addr()}}
	}
	return nil
}

func (c *commons) dir(t *testing.T) string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dirs != "" {
		return c.dirs
	}
	dir, err := os.MkdirTemp("", "cachewright-statements-")
	if err != nil {
		t.Fatal(err)
	}
	c.dirs = dir
	c.cleanups = append(c.cleanups, func() { os.RemoveAll(dir) })
	return dir
}

func redisServer(t *testing.T) *servertest.Redis {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.redis == nil {
		shared.redis = servertest.StartRedis(lasting{t, shared}, servertest.RedisOptions{})
	}
	return shared.redis
}

func postgresServer(t *testing.T) *servertest.Postgres {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.postgres != nil {
		return shared.postgres
	}
	server := servertest.StartPostgres(lasting{t, shared}, servertest.PostgresOptions{})
	conn, err := pgx.Connect(t.Context(), server.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "CREATE SCHEMA app"); err != nil {
		t.Fatal(err)
	}
	shared.postgres = server
	return server
}

func memcachedServer(t *testing.T) *servertest.Memcached {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.memcache == nil {
		shared.memcache = servertest.StartMemcached(lasting{t, shared}, servertest.MemcachedOptions{})
	}
	return shared.memcache
}

// hostConfig is a configuration for several hosts: one store of a kind, under a
// prefix of the test's own.
func hostConfig(t *testing.T, kind string, lock cache.LockConfig) cache.Config {
	t.Helper()
	prefix := strings.ReplaceAll(t.Name(), "/", ".")
	return cache.Config{Default: "main", Stores: map[string]cache.StoreConfig{
		"main": {Driver: kind, Prefix: &prefix, Timeout: hangGuard, Lock: lock, Options: optionsOf(t, kind)},
	}}
}

// lasts is a lock block with a timeout, for the strategies that have nothing else.
func lasts(d time.Duration) cache.LockConfig { return cache.LockConfig{Timeout: &d} }

// postgres is a connection that knows nothing of any store.
func postgres(t *testing.T) *pgx.Conn {
	t.Helper()
	return connect(t, postgresServer(t).URL(""))
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// ask returns the one value that a query answers with.
func ask[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) (answer T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

func execute(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// atEnd has the database clean when the test ends.
func atEnd(t *testing.T, conn *pgx.Conn, sql ...string) {
	t.Cleanup(func() {
		for _, s := range sql {
			if _, err := conn.Exec(context.Background(), s); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
	})
}

// rows counts the lock rows of a physical key.
func rows(t *testing.T, conn *pgx.Conn, key string) int {
	t.Helper()
	return ask[int](t, conn, `SELECT count(*) FROM `+lockTable+` WHERE key = $1`, key)
}

// redisClient is a client that knows nothing of any store.
func redisClient(t *testing.T) *goredis.Client {
	t.Helper()
	client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: redisServer(t).Socket()})
	t.Cleanup(func() { client.Close() })
	return client
}

// waits fails if the lock can be entered within a moment.
func waits(t *testing.T, l cache.Locker, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	ran := false
	err := l.Lock(key, cache.LockTimeout(time.Hour)).Do(ctx, func(context.Context) error { ran = true; return nil })
	if ran || err == nil {
		t.Errorf("lock %q was entered beside its holder: %v", key, err)
	}
}

// enters fails unless the lock can be entered.
func enters(t *testing.T, l cache.Locker, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangGuard/2)
	defer cancel()
	if err := l.Lock(key, cache.LockTimeout(time.Hour)).Do(ctx, nothing); err != nil {
		t.Errorf("lock %q: %v", key, err)
	}
}

func nothing(context.Context) error { return nil }

// mustNotRun is a block that an entry must not let in.
func mustNotRun(t *testing.T) func(context.Context) error {
	return func(context.Context) error { t.Error("the block ran"); return nil }
}

// eventually waits until the answer is yes.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(hangGuard); !yes(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v and still not: %s", hangGuard, what)
		}
	}
}
