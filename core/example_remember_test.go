package core_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// Remember resolves on a miss and stores what comes.
func ExampleTyped_Remember() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	load := func(context.Context) (account, error) {
		fmt.Println("loading")
		return account{"Ada", 7}, nil
	}
	for range 2 {
		a, err := cache.Of[account](caches).Remember(ctx, "ada", time.Hour, load)
		fmt.Println(a.Name, err)
	}
	// Output:
	// loading
	// Ada <nil>
	// Ada <nil>
}

// RememberForever is for what never changes.
func ExampleTyped_RememberForever() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	country, err := cache.Of[string](caches).RememberForever(ctx, "country:NO", func(context.Context) (string, error) {
		return "Norway", nil
	})
	fmt.Println(country, err)
	// Output: Norway <nil>
}

// RememberLocked is the double check: it reads, enters the key's lock, reads
// again, and only then resolves.
func ExampleRememberLocked() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	v, err := cache.RememberLocked(ctx, caches, "report", time.Hour, func(context.Context) (any, error) {
		return "built", nil
	}, cache.LockTimeout(3*time.Second))
	fmt.Println(string(v.Bytes()), err)
	// Output: "built" <nil>
}

// Options change Remember, each as far as it says; docs/remember.md has what
// each costs.
func ExampleRememberOption() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	build := func(context.Context) (any, error) { return "built", nil }
	options := []cache.RememberOption{
		cache.SingleFlight(30 * time.Second),    // one build a process
		cache.UnderLock(),                       // and one among processes
		cache.StaleFor(time.Hour),               // an old report, if building fails
		cache.SoftLimit(200 * time.Millisecond), // or takes long
		cache.HardLimit(5 * time.Second),        // nobody waits longer
		cache.RetryAfter(10 * time.Second),      // a source that is down is left in peace
		cache.RefreshAhead(0.8),                 // the next one is built before this one ends
		cache.TTLJitter(0.1),                    // not all at the same second
	}
	v, err := caches.Remember(ctx, "report", time.Minute, build, options...)
	fmt.Println(string(v.Bytes()), v.Stale(), err)
	// Output: "built" false <nil>
}

// A value that is kept for longer than it is fresh says how long that is, as the
// header Cache-Control of an answer wants to know.
func ExampleValue_Due() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	build := func(context.Context) (any, error) { return "built", nil }
	v, err := caches.Remember(ctx, "report", time.Minute, build, cache.StaleFor(time.Hour))
	due, ok := v.Due()
	fmt.Printf("max-age=%.0f %t %v\n", time.Until(due).Round(time.Minute).Seconds(), ok, err)

	v, err = caches.Remember(ctx, "plain", time.Minute, build)
	_, ok = v.Due()
	fmt.Println(ok, err)
	// Output:
	// max-age=60 true <nil>
	// false <nil>
}

// That there is nothing can be remembered too.
func ExampleNegativeTTL() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	find := func(context.Context) (account, error) {
		fmt.Println("searching")
		return account{}, fmt.Errorf("no such account: %w", cache.ErrNotFound)
	}
	for range 2 {
		_, err := cache.Of[account](caches).Remember(ctx, "carl", time.Hour, find, cache.NegativeTTL(10*time.Second))
		fmt.Println(errors.Is(err, cache.ErrNotFound))
	}
	// Output:
	// searching
	// true
	// true
}

// A value may know how long it is good for.
func ExampleTTLFrom() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	type token struct{ ExpiresIn time.Duration }
	login := func(context.Context) (token, error) { return token{time.Hour}, nil }
	_, err := cache.Of[token](caches).Remember(ctx, "token", cache.Forever, login,
		cache.TTLFrom(func(t token) time.Duration { return t.ExpiresIn - time.Minute }),
		cache.RefreshByChance(1), // before it ends, one of all processes fetches the next
	)
	ttl, _, _ := concrete(caches).TTL(ctx, "token")
	fmt.Println(ttl <= 59*time.Minute, err)
	// Output: true <nil>
}

// A detached resolver that panics lets all who wait for it panic, with the stack
// of where it happened.
func ExampleResolverPanic() {
	ctx, caches := context.Background(), openMemory()
	defer caches.Close(ctx)

	defer func() {
		if p, ok := recover().(*cache.ResolverPanic); ok {
			fmt.Println(p.Value, len(p.Stack) > 0)
		}
	}()
	_, _ = caches.Remember(ctx, "k", time.Hour, func(context.Context) (any, error) {
		panic("a bug")
	}, cache.SingleFlight(time.Minute))
	// Output: a bug true
}
