package core_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// An account is what the examples keep.
type account struct {
	Name  string
	Score int
}

// openMemory is what most examples begin with: a manager whose default store is
// in the memory of a driver's process.
func openMemory() *cache.CacheManager {
	caches, err := cache.OpenConfig(context.Background(), cache.Config{
		Default: "main",
		Prefix:  "app",
		Stores: map[string]cache.StoreConfig{"main": {
			Driver:     "memory",
			DefaultTTL: 20 * time.Minute,
			Lock:       cache.LockConfig{Strategy: "local"},
		}},
	}, cache.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	return caches
}

// concrete is the repository of the default store, with everything it has.
func concrete(caches *cache.CacheManager) *cache.CacheRepository {
	store, err := caches.Store("")
	if err != nil {
		log.Fatal(err)
	}
	return store.(*cache.CacheRepository)
}

// A program opens its configuration once, and closes it at its end.
func Example() {
	folder, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "config.yaml")
	_ = os.WriteFile(path, []byte("default: file\nstores: {file: {driver: file, path: ./cache}}\n"), 0o600)

	ctx := context.Background()
	caches, err := cache.Open(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	defer caches.Close(ctx)

	if err := caches.Set(ctx, "greeting", "hello", 10*time.Minute); err != nil {
		log.Fatal(err)
	}
	greeting, found, err := cache.Of[string](caches).Get(ctx, "greeting")
	fmt.Println(greeting, found, err)
	// Output: hello true <nil>
}

// What is wrong is told all at once.
func ExampleOpenConfig() {
	_, err := cache.OpenConfig(context.Background(), cache.Config{
		Default: "pages",
		Stores: map[string]cache.StoreConfig{
			"pages": {Driver: "file"},
			"jobs":  {Driver: "memory", Lock: cache.LockConfig{Strategy: "strong"}},
		},
	})
	fmt.Println(errors.Is(err, cache.ErrInvalidConfig))
	fmt.Println(err)
	// Output:
	// true
	// stores.jobs.lock.strategy: must be local, lease, redlock or exclusive
	// stores.pages.path: is required
}

// A second file holds what is special about one installation, and a logger takes
// what manager and drivers have to say.
func ExampleWithFile() {
	folder, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(folder)
	common, here := filepath.Join(folder, "common.yaml"), filepath.Join(folder, "here.yaml")
	_ = os.WriteFile(common, []byte("default: main\nstores: {main: {driver: memory, timeout: 1s}}\n"), 0o600)
	_ = os.WriteFile(here, []byte("prefix: production\n"), 0o600)

	ctx := context.Background()
	options := []cache.Option{cache.WithFile(here), cache.WithLogger(slog.New(slog.DiscardHandler))}
	caches, err := cache.Open(ctx, common, options...)
	if err != nil {
		log.Fatal(err)
	}
	defer caches.Close(ctx)
	for _, s := range caches.Stores() {
		fmt.Println(s.Name, s.Driver, s.Prefix, s.Timeout)
	}
	settings, err := caches.Settings(ctx, false)
	if err != nil {
		log.Fatal(err)
	}
	i := slices.IndexFunc(settings, func(s cache.Setting) bool { return s.Key == "prefix" })
	fmt.Println(settings[i].Value, filepath.Base(settings[i].From))
	// Output:
	// main memory production 1s
	// production here.yaml:1
}

// A package variable may hold a cache that nothing has opened yet.
func ExampleDeferred() {
	var Cache *cache.Deferred = cache.NewDeferred(func(ctx context.Context) (*cache.CacheManager, error) {
		fmt.Println("opening")
		return openMemory(), nil
	})

	ctx := context.Background()
	for range 2 {
		caches, err := Cache.Resolve(ctx)
		if err != nil {
			log.Fatal(err)
		}
		visits, err := caches.Increment(ctx, "visits", 1)
		fmt.Println(visits, err)
	}
	caches, _ := Cache.Resolve(ctx)
	_ = caches.Close(ctx)
	// Output:
	// opening
	// 1 <nil>
	// 2 <nil>
}

// A Value is what a read found, and nothing to store or to send: that says so.
func ExampleValue_MarshalText() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	v, _ := caches.Get(ctx, "ada")
	fmt.Println(caches.Set(ctx, "copy", v, cache.Forever) != nil)
	_, err := v.MarshalText()
	fmt.Println(err)
	// Output:
	// true
	// cache: a Value is what a read found; store or send what it decodes to
}

// A miss and a stored null are two answers.
func ExampleValue() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	_ = caches.Set(ctx, "nobody", nil, cache.Forever)
	_ = caches.Set(ctx, "ada", account{"Ada", 7}, cache.Forever)
	for _, key := range []string{"ada", "nobody", "ben"} {
		v, err := caches.Get(ctx, key)
		if err != nil {
			log.Fatal(err)
		}
		var a account
		err = v.Decode(&a)
		fmt.Println(key, v.Found(), v.IsNull(), a.Score, errors.Is(err, cache.ErrMiss), errors.Is(err, cache.ErrNull))
	}
	// Output:
	// ada true false 7 false false
	// nobody true true 0 false true
	// ben false false 0 true false
}

// The typed view of a store decodes, and never hands out a zero value in place
// of something that doesn't fit.
func ExampleOf() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	var accounts cache.Typed[account] = cache.Of[account](caches)
	_ = accounts.SetMany(ctx, map[string]account{"ada": {"Ada", 7}, "ben": {"Ben", 5}}, time.Hour)
	found, err := accounts.GetMany(ctx, []string{"ada", "ben", "carl"})
	fmt.Println(len(found), found["ben"].Score, err)

	_, _, err = cache.Of[int](caches).Get(ctx, "ada")
	fmt.Println(errors.Is(err, cache.ErrWrongType))
	// Output:
	// 2 5 <nil>
	// true
}

// Every write says how long. A TTL that ran out while it was computed is an
// error, and DefaultTTL is the store's own.
func ExampleForever() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)
	store := concrete(caches)

	_ = store.Set(ctx, "name", "Ada", cache.Forever)
	_ = store.Set(ctx, "session", "4711", cache.DefaultTTL)
	err := store.Set(ctx, "token", "secret", time.Until(time.Now().Add(-time.Minute)))
	fmt.Println(errors.Is(err, cache.ErrInvalidTTL))

	ttl, _, _ := store.TTL(ctx, "name")
	fmt.Println(ttl == cache.Forever)
	ttl, _, _ = store.TTL(ctx, "session")
	fmt.Println(ttl.Round(time.Minute))
	touched, err := store.Touch(ctx, "session", time.Hour)
	fmt.Println(touched, err)
	// Output:
	// true
	// true
	// 20m0s
	// true <nil>
}

// Add and Replace decide in the backend: of any number of callers, one wins.
func ExampleCacheRepository_Add() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)
	store := concrete(caches)

	first, _ := store.Add(ctx, "leader", "a", time.Minute)
	second, _ := store.Add(ctx, "leader", "b", time.Minute)
	replaced, _ := store.Replace(ctx, "nobody", "c", time.Minute)
	v, _ := store.Pull(ctx, "leader")
	left, err := store.Has(ctx, "leader")
	fmt.Println(first, second, replaced, string(v.Bytes()), left, err)
	// Output: true false false "a" false <nil>
}

// What works on a store works on a manager, where it is about the default store.
func ExampleCacheOperations() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	forget := func(operations cache.CacheOperations, key string) (bool, error) {
		return operations.Delete(ctx, key)
	}
	_ = caches.Set(ctx, "k", 1, time.Minute)
	fmt.Println(forget(concrete(caches), "k"))
	fmt.Println(forget(caches, "k"))
	// Output:
	// true <nil>
	// false <nil>
}

// A counter is created by its first increment, with a TTL if it shall have one.
func ExampleInitialTTL() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	var once cache.CounterOption = cache.InitialTTL(time.Minute)
	for range 3 {
		_, _ = caches.Increment(ctx, "requests:ada", 1, once)
	}
	left, err := caches.Decrement(ctx, "requests:ada", 1)
	fmt.Println(left, err)
	// Output: 2 <nil>
}

// What works on many keys, and what Clear leaves alone: everything that hasn't
// the store's prefix.
func ExampleCacheRepository_Keys() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)
	store := concrete(caches)

	_ = store.SetMany(ctx, map[string]any{"user:1": "Ada", "user:2": "Ben", "page:1": "…"}, time.Hour)
	var users []string
	for key, err := range store.Keys(ctx, "user:") {
		if err != nil {
			log.Fatal(err)
		}
		users = append(users, key)
	}
	slices.Sort(users)
	deleted, err := store.DeleteMany(ctx, users)
	fmt.Println(users, deleted, err)
	fmt.Println(store.Clear(ctx))
	// Output:
	// [user:1 user:2] 2 <nil>
	// <nil>
}

// A batch says which of its keys failed, and an error what was done where.
func ExampleBatchError() {
	ctx := context.Background()
	caches, err := cache.OpenConfig(ctx, cache.Config{
		Default: "main",
		Stores:  map[string]cache.StoreConfig{"main": {Driver: "memory", Options: map[string]any{"max_bytes": "64KiB"}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer caches.Close(ctx)

	err = caches.SetMany(ctx, map[string]any{"small": 1, "large": strings.Repeat("x", 1<<20)}, time.Hour)
	var batch *cache.BatchError
	if errors.As(err, &batch) {
		for key, err := range batch.Failed {
			fmt.Println(key, errors.Is(err, cache.ErrTooLarge))
		}
	}
	var failed *cache.Error
	_, err = caches.Get(ctx, "")
	if errors.As(err, &failed) {
		fmt.Println(failed.Op, failed.Store, errors.Is(err, cache.ErrInvalidKey))
	}
	// Output:
	// large true
	// get main true
}

// What a store is, by what its driver announced.
func ExampleCacheRepository_Capabilities() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)
	store := concrete(caches)

	var can cache.Capabilities
	can, err := store.Capabilities(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(can.Has("increment"), can.Granularity, can.Class)
	var locks cache.LockInfo
	locks, err = store.LockInfo(ctx)
	fmt.Println(locks.Strategy, locks.Scope, err)

	var stats []cache.Stat
	stats, err = store.Stats(ctx)
	fmt.Println(stats[0].Name, stats[0].Value, store.Ping(ctx), err)
	// Output:
	// true 1ms volatile
	// local process <nil>
	// entries 0 <nil> <nil>
}

// A tool looks at drivers and stores without knowing what they are.
func ExampleCacheManager_Drivers() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	if err := errors.Join(caches.CheckOptions(ctx), caches.Warm(ctx)); err != nil {
		log.Fatal(err)
	}
	for _, d := range caches.Drivers() {
		var info cache.DriverInfo = d
		fmt.Println(info.Name, info.Run, info.State, info.Restarts, info.Stores)
	}
	var driver cache.DriverDescription
	driver, err := caches.DescribeDriver(ctx, "memory")
	if err != nil {
		log.Fatal(err)
	}
	var option cache.DriverOption = driver.Options[0]
	fmt.Println(option.Name, option.Kind)
	for _, s := range caches.Stores() {
		var info cache.StoreInfo = s
		fmt.Println(info.Name, info.Default, info.Codec)
	}
	// Output:
	// memory builtin ready 0 [main]
	// max_bytes bytes
	// main true json
}

// A double of the contracts answers with ValueOf.
func ExampleValueOf() {
	var caches cache.ICacheManager = double{}
	store, err := caches.Store("users")
	if err != nil {
		log.Fatal(err)
	}
	v, err := store.Get(context.Background(), "ada")
	fmt.Println(string(v.Bytes()), v.Found(), err)
	// Output: {"Name":"Ada","Score":7} true <nil>
}

type double struct{ cache.ICacheManager }

func (double) Store(string) (cache.ICacheRepository, error) { return doubleStore{}, nil }

type doubleStore struct{ cache.ICacheRepository }

func (doubleStore) Get(context.Context, string) (cache.Value, error) {
	return cache.ValueOf(account{"Ada", 7})
}
