package core_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// Do enters, runs the function and leaves. A wait that runs out has an error of
// its own.
func ExampleCacheLock_Do() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	lock := caches.Lock("report:build", cache.LockTimeout(0))
	err := lock.Do(ctx, func(context.Context) error {
		fmt.Println("building")
		// Somebody else, who doesn't have this block's context:
		err := lock.Do(ctx, func(context.Context) error { return nil })
		fmt.Println("busy:", errors.Is(err, cache.ErrLockTimeout))
		return nil
	})
	fmt.Println(err)
	// Output:
	// building
	// busy: true
	// <nil>
}

// DoValue brings a value out of the block.
func ExampleDoValue() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	var lock *cache.CacheLock = caches.Lock("count", cache.LockTimeout(2*time.Second))
	count, err := cache.DoValue(ctx, lock, func(ctx context.Context) (int, error) {
		count, _, err := cache.Of[int](caches).Get(ctx, "count")
		if err != nil {
			return 0, err
		}
		return count + 1, caches.Set(ctx, "count", count+1, time.Hour)
	})
	fmt.Println(count, err)
	// Output: 1 <nil>
}

// DoMany holds all locks or none, and two of them don't block each other
// however their keys are ordered.
func ExampleDoMany() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	err := cache.DoMany(ctx, caches, []string{"account:ben", "account:ada"}, func(ctx context.Context) error {
		fmt.Println("both")
		return nil
	}, cache.LockTimeout(time.Second))
	fmt.Println(err)
	// Output:
	// both
	// <nil>
}

// An exclusive lock is renewed while its block runs, and has a token that rises
// from holder to holder: whatever the block writes to can refuse an older one.
func ExampleFencingToken() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	options := []cache.LockOption{
		cache.LockStrategy("exclusive"), // of this lock; the store's is in its lock block
		cache.LockLease(10 * time.Second),
		cache.LockWait(2 * time.Second),
	}
	var highest uint64
	for range 2 {
		err := caches.Lock("ledger", options...).Do(ctx, func(ctx context.Context) error {
			token, ok := cache.FencingToken(ctx)
			same, _ := cache.FencingTokenFor(ctx, "ledger")
			fmt.Println(ok, token > highest, same == token)
			highest = token
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// true true true
	// true true true
}

// A service that is handed the contract looks for locks itself.
func ExampleLocker() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	refresh := func(store cache.ICacheRepository) error {
		locker, ok := store.(cache.Locker)
		if !ok {
			return fmt.Errorf("the repository %s has no locks", store.Name())
		}
		return locker.Lock("refresh").Do(ctx, func(context.Context) error { return nil })
	}
	fmt.Println(refresh(concrete(caches)))
	fmt.Println(refresh(namedDouble{}))
	// Output:
	// <nil>
	// the repository double has no locks
}

type namedDouble struct{ doubleStore }

func (namedDouble) Name() string { return "double" }

// NewCacheLock is for those who build on locks: it takes the physical key, and
// adds no prefix.
func ExampleNewCacheLock() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	var backend *cache.LockBackend = concrete(caches).LockBackend()
	lock := cache.NewCacheLock(backend, "app:job") // the same lock as caches.Lock("job")
	fmt.Println(lock.Do(ctx, func(ctx context.Context) error {
		err := caches.Lock("job").Do(ctx, func(context.Context) error { return nil })
		fmt.Println(errors.Is(err, cache.ErrLockReentrant))
		return nil
	}))
	// Output:
	// true
	// <nil>
}
