package docs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/codecs/msgpack"
	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/maypok86/otter/v2"
	"github.com/redis/go-redis/v9"
	mp "github.com/vmihailenco/msgpack/v5"
)

// The page's blocks are bodies of functions here, or stand here as they are.
// Both sides of a comparison run against one server.

type Page struct{ Text string }

var errBusy = errors.New("busy")

var release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)

func readUser(ctx context.Context, store cache.ICacheRepository) (User, bool, error) {
	// before: data, err := json.Marshal(user); rdb.Set(ctx, "shop:user:7", data, time.Hour)
	user, found, err := cache.Of[User](store).Get(ctx, "user:7")
	return user, found, err
}

func usersBefore(ctx context.Context, rdb *redis.Client, ids []string) (map[string]User, error) {
	pipe := rdb.Pipeline()
	found := make(map[string]*redis.StringCmd, len(ids))
	for _, id := range ids {
		found[id] = pipe.Get(ctx, "shop:user:"+id)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	users := make(map[string]User, len(ids))
	for id, cmd := range found {
		data, err := cmd.Bytes()
		if errors.Is(err, redis.Nil) {
			continue
		}
		var user User
		if err := errors.Join(err, json.Unmarshal(data, &user)); err != nil {
			return nil, err
		}
		users["user:"+id] = user
	}
	return users, nil
}

func usersAfter(ctx context.Context, store cache.ICacheRepository, ids []string) (map[string]User, error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = "user:" + id
	}
	return cache.Of[User](store).GetMany(ctx, keys) // by key, those that were found
}

func lockedBefore(ctx context.Context, rdb *redis.Client, work func(context.Context) error) error {
	token := rand.Text()
	taken, err := rdb.SetNX(ctx, "shop:report-lock", token, 10*time.Second).Result()
	if err != nil {
		return err
	}
	if !taken {
		return errBusy
	}
	defer release.Run(context.WithoutCancel(ctx), rdb, []string{"shop:report-lock"}, token) // a script that compares
	return work(ctx)
}

func lockedAfter(ctx context.Context, jobs cache.Locker, work func(context.Context) error) error {
	err := jobs.Lock("report", cache.LockTimeout(0)).Do(ctx, work)
	if errors.Is(err, cache.ErrLockTimeout) {
		return errBusy
	}
	return err
}

func chain(ctx context.Context, store cache.ICacheRepository, load func(context.Context) (User, error)) (User, error) {
	near := otter.Must(&otter.Options[string, User]{
		MaximumSize:      10_000,
		ExpiryCalculator: otter.ExpiryWriting[string, User](time.Second), // how old an answer may be
	})
	users := cache.Of[User](store)
	user, err := near.Get(ctx, "user:7", otter.LoaderFunc[string, User](func(ctx context.Context, key string) (User, error) {
		return users.Remember(ctx, key, time.Hour, load)
	}))
	return user, err
}

func page(ctx context.Context, store cache.ICacheRepository, n int, render func(context.Context) (Page, error)) (Page, error) {
	generation, _, err := cache.Of[int64](store).Get(ctx, "generation:books")
	if err != nil {
		return Page{}, err
	}
	return cache.Of[Page](store).Remember(ctx, fmt.Sprintf("books:%d:page:%d", generation, n), time.Hour, render)
}

func forgetPages(ctx context.Context, store cache.ICacheRepository) error {
	_, err := store.Increment(ctx, "generation:books", 1) // from now on nobody finds the old pages
	return err
}

var Cache = cache.NewDeferred(func(ctx context.Context) (*cache.CacheManager, error) {
	return cache.Open(ctx, "config.yaml")
})

func nightly(ctx context.Context) (Report, error) {
	caches, err := Cache.Resolve(ctx)
	if err != nil {
		return Report{}, err
	}
	file, err := caches.Store("file")
	if err != nil {
		return Report{}, err
	}
	lock := file.(cache.Locker).Lock("nightly", cache.LockTimeout(3*time.Second))
	return cache.DoValue(ctx, lock, func(ctx context.Context) (Report, error) {
		return cache.Of[Report](file).Remember(ctx, "report", time.Minute, build)
	})
}

// redisPair opens the page's configuration on a server, beside a client of it.
func redisPair(t *testing.T) (m *cache.CacheManager, rdb *redis.Client) {
	t.Helper()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	page := read(t, "migration.md")
	t.Chdir(t.TempDir())
	config := strings.ReplaceAll(blocks(page, "yaml")[0], "127.0.0.1:6379", server.Addr())
	if err := os.WriteFile("config.yaml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := cache.Open(t.Context(), "config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rdb = redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = m.Close(context.Background()); _ = rdb.Close() })
	return m, rdb
}

func TestBothSidesOfTheComparisonWithGoRedisAgree(t *testing.T) {
	m, rdb := redisPair(t)
	ctx, main := t.Context(), store(t, m, "main")
	data, err := json.Marshal(User{"Ada"})
	if err != nil {
		t.Fatal(err)
	}
	if err := rdb.Set(ctx, "shop:user:7", data, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	if user, found, err := readUser(ctx, main); user.Name != "Ada" || !found || err != nil {
		t.Errorf("an entry of go-redis: %v, %t, %v", user, found, err)
	}
	if err := main.Set(ctx, "user:8", User{"Ben"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	ids := []string{"7", "8", "9"}
	before, err1 := usersBefore(ctx, rdb, ids)
	after, err2 := usersAfter(ctx, main, ids)
	if err := errors.Join(err1, err2); err != nil || len(after) != 2 || !maps.Equal(before, after) {
		t.Errorf("before %v, after %v, %v", before, after, err)
	}
	if n, err := main.Increment(ctx, "visits", 1); n != 1 || err != nil {
		t.Errorf("Increment = %d, %v", n, err)
	}
	if n, err := rdb.Incr(ctx, "shop:visits").Result(); n != 2 || err != nil {
		t.Errorf("INCR = %d, %v", n, err)
	}
	if err := rdb.Set(ctx, "shop:yes", true, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := cache.Of[int](main).Get(ctx, "yes"); n != 1 || err != nil {
		t.Errorf("go-redis' true is %d, %v", n, err)
	}
	if ttl, ok, err := main.TTL(ctx, "yes"); ttl != cache.Forever || !ok || err != nil {
		t.Errorf("TTL = %v, %t, %v", ttl, ok, err)
	}
	if keys := slices.Sorted(keysOf(t, main, "user:")); !slices.Equal(keys, []string{"user:7", "user:8"}) {
		t.Errorf("Keys = %v", keys)
	}
}

func keysOf(t *testing.T, s *cache.CacheRepository, start string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key, err := range s.Keys(t.Context(), start) {
			if err != nil {
				t.Error(err)
			}
			if !yield(key) {
				return
			}
		}
	}
}

func TestTheLocksOfBothSidesExcludeTheirOwnKind(t *testing.T) {
	m, rdb := redisPair(t)
	ctx, jobs := t.Context(), store(t, m, "jobs")
	for name, locked := range map[string]func(context.Context, func(context.Context) error) error{
		"before": func(ctx context.Context, work func(context.Context) error) error { return lockedBefore(ctx, rdb, work) },
		"after":  func(ctx context.Context, work func(context.Context) error) error { return lockedAfter(ctx, jobs, work) },
	} {
		for range 2 { // the second time it is free again
			err := locked(ctx, func(context.Context) error {
				return locked(context.WithoutCancel(t.Context()), func(context.Context) error { t.Error("two inside"); return nil })
			})
			if !errors.Is(err, errBusy) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	err := lockedBefore(ctx, rdb, func(ctx context.Context) error { return lockedAfter(ctx, jobs, nothing) })
	if err != nil {
		t.Errorf("the two locks know of each other: %v", err)
	}
}

func TestWhatTakesThePlaceOfChainAndTags(t *testing.T) {
	s := store(t, memoryManager(t), "memory")
	ctx := t.Context()
	if user, err := chain(ctx, s, func(context.Context) (User, error) { return User{"Ada"}, nil }); user.Name != "Ada" || err != nil {
		t.Errorf("chain = %v, %v", user, err)
	}
	rendered := 0
	render := func(context.Context) (Page, error) { rendered++; return Page{fmt.Sprint(rendered)}, nil }
	for _, want := range []string{"1", "1", "2", "2", "3"} {
		if want != fmt.Sprint(max(rendered, 1)) {
			if err := forgetPages(ctx, s); err != nil {
				t.Fatal(err)
			}
		}
		if p, err := page(ctx, s, 1, render); p.Text != want || err != nil {
			t.Errorf("page = %v, %v; want %s", p, err, want)
		}
	}
}

// A marshaler of gocache is the msgpack library at its defaults.
func TestTheCodecMsgpackReadsWhatAMarshalerWrote(t *testing.T) {
	s := store(t, memoryManager(t), "memory")
	data, err := mp.Marshal(User{"Ada"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WithCodec(cache.Raw).Set(t.Context(), "user:7", data, time.Hour); err != nil {
		t.Fatal(err)
	}
	user, _, err := cache.Of[User](s.WithCodec(msgpack.Codec)).Get(t.Context(), "user:7")
	if user.Name != "Ada" || err != nil {
		t.Errorf("Get = %v, %v", user, err)
	}
}

func TestNightlyRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("config.yaml", []byte("default: file\nstores: {file: {driver: file, path: ./cache}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if report, err := nightly(t.Context()); report.Text != "built" || err != nil {
			t.Errorf("nightly = %v, %v", report, err)
		}
	}
	caches, err := Cache.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := caches.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
