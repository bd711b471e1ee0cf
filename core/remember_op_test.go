package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// A failure is one way in which Remember fails, and what the error has to say.
type failure struct {
	ttl     time.Duration // 0: a minute
	key     string        // "": k
	get     error         // of the driver, as set
	set     error
	resolve func(context.Context) (any, error)
	opts    []cache.RememberOption
	want    error
	says    string // behind the name of the store
}

var (
	flight  = cache.SingleFlight(time.Second)
	hangs   = func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
	absent  = func(context.Context) (any, error) { return nil, cache.ErrNotFound }
	noValue = constant(make(chan int))
)

var failures = map[string]failure{
	"a TTL that is none":              {ttl: -1, want: cache.ErrInvalidTTL},
	"a TTL that is none, and options": {ttl: -1, opts: []cache.RememberOption{flight}, want: cache.ErrInvalidTTL},
	"no default TTL":                  {ttl: cache.DefaultTTL, want: cache.ErrInvalidTTL},
	"an option that is none":          {opts: []cache.RememberOption{cache.SingleFlight(0)}, want: cache.ErrInvalidRememberOption},
	"options that exclude each other": {opts: []cache.RememberOption{cache.SoftLimit(1)}, want: cache.ErrInvalidRememberOption},
	"a lock option that is none": {
		opts: []cache.RememberOption{cache.UnderLock(cache.LockTimeout(-1))}, want: cache.ErrInvalidLockOption, says: "lock: ",
	},
	"a key that is none":              {key: "\x00", want: cache.ErrInvalidKey, says: "get: "},
	"a key that is none, and options": {key: "\x00", opts: []cache.RememberOption{flight}, want: cache.ErrInvalidKey, says: "get: "},
	"a read that fails":               {get: cache.ErrUnavailable, want: cache.ErrUnavailable, says: "get: "},
	"a read that fails, and options":  {get: cache.ErrUnavailable, opts: []cache.RememberOption{flight}, want: cache.ErrUnavailable, says: "get: "},
	"a write that fails":              {set: cache.ErrUnavailable, want: cache.ErrUnavailable, says: "set: "},
	"a write that fails, and options": {set: cache.ErrUnavailable, opts: []cache.RememberOption{flight}, want: cache.ErrUnavailable, says: "set: "},
	"a write with freshness that fails": {
		set: cache.ErrUnavailable, opts: []cache.RememberOption{cache.StaleFor(time.Hour)}, want: cache.ErrUnavailable, says: "set: ",
	},
	"a value that can't be encoded":              {resolve: noValue, want: cache.ErrWrongType},
	"a value that can't be encoded, and options": {resolve: noValue, opts: []cache.RememberOption{flight}, want: cache.ErrWrongType},
	"a value that TTLFrom doesn't take": {
		opts: []cache.RememberOption{cache.TTLFrom(func(time.Time) time.Duration { return 1 })}, want: cache.ErrWrongType,
	},
	"a resolver that takes too long":      {resolve: hangs, opts: []cache.RememberOption{flight}, want: cache.ErrResolverTimeout},
	"a caller that waits no longer":       {resolve: hangs, opts: []cache.RememberOption{cache.HardLimit(time.Millisecond)}, want: cache.ErrResolverTimeout},
	"a caller that leaves a detached one": {resolve: hangs, opts: []cache.RememberOption{cache.SingleFlight(time.Hour)}, want: context.DeadlineExceeded},
}

func TestAnErrorOfRememberNamesRemember(t *testing.T) {
	for name, fails := range failures {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, fails.test)
		})
	}
}

func (fails failure) test(t *testing.T) {
	f := newFake()
	r := f.repository(t)
	f.failing("get", fails.get)
	f.failing("set", fails.set)
	if fails.ttl == 0 {
		fails.ttl = time.Minute
	}
	if fails.key == "" {
		fails.key = "k"
	}
	if fails.resolve == nil {
		fails.resolve = constant(1)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := r.Remember(ctx, fails.key, fails.ttl, fails.resolve, fails.opts...)
	fails.check(t, "Remember", r.Name(), err)
	_, err = cache.Of[any](r).Remember(ctx, fails.key, fails.ttl, fails.resolve, fails.opts...)
	fails.check(t, "Typed.Remember", r.Name(), err)
	if fails.ttl == time.Minute {
		_, err = r.RememberForever(ctx, fails.key, fails.resolve, fails.opts...)
		fails.check(t, "RememberForever", r.Name(), err)
	}
}

func (fails failure) check(t *testing.T, call, store string, err error) {
	t.Helper()
	said, ok := err.(*cache.Error)
	if !ok || !errors.Is(err, fails.want) {
		t.Fatalf("%s: %v, want a *core.Error of %v", call, err, fails.want)
	}
	if said.Op != string(cache.OpRemember) || said.Key != fails.key || said.Store != store || said.Driver != "fake" {
		t.Errorf("%s: it is of %s %q in %q (%q): %v", call, said.Op, said.Key, said.Store, said.Driver, err)
	}
	start := fmt.Sprintf("cache: remember %q in store %s (driver fake): %s", fails.key, store, fails.says)
	if text := err.Error(); len(text) < len(start) || text[:len(start)] != start {
		t.Errorf("%s: %q, want it to begin with %q", call, text, start)
	}
}

func TestAKeptAnswerThatNothingIsThereNamesRemember(t *testing.T) {
	r := newFake().repository(t)
	keep := cache.NegativeTTL(time.Minute)
	_, err := r.Remember(t.Context(), "k", time.Minute, absent, keep)
	if _, named := errors.AsType[*cache.Error](err); named || !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("a resolver's own answer: %v", err)
	}
	_, err = r.Remember(t.Context(), "k", time.Minute, absent, keep)
	failure{key: "k", want: cache.ErrNotFound}.check(t, "Remember", r.Name(), err)
}

func TestRememberLockedNamesRemember(t *testing.T) {
	for name, fails := range map[string]failure{
		"a read that fails":      {key: "k", get: cache.ErrUnavailable, want: cache.ErrUnavailable, says: "get: "},
		"a write that fails":     {key: "k", set: cache.ErrUnavailable, want: cache.ErrUnavailable, says: "set: "},
		"a lock option is wrong": {key: "k", want: cache.ErrInvalidLockOption, says: "lock: "},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			r := f.repository(t)
			f.failing("get", fails.get)
			f.failing("set", fails.set)
			var opts []cache.LockOption
			if fails.want == cache.ErrInvalidLockOption {
				opts = append(opts, cache.LockTimeout(-1))
			}
			_, err := cache.RememberLocked(t.Context(), r, "k", time.Minute, constant(1), opts...)
			fails.check(t, "RememberLocked", r.Name(), err)
		})
	}
	_, err := cache.RememberLocked(t.Context(), newFake().repository(t), "k", 0, constant(1))
	if said, ok := errors.AsType[*cache.Error](err); !ok || said.Op != "remember" || !errors.Is(err, cache.ErrInvalidTTL) {
		t.Errorf("a TTL that is none: %v", err)
	}
}

// What the resolver got from a store is its own business.
func TestAResolversErrorComesAsItIs(t *testing.T) {
	r := newFake().repository(t)
	_, own := r.Get(t.Context(), "\x00")
	for name, opts := range map[string][]cache.RememberOption{
		"no options": nil, "detached": {flight}, "under a lock": {cache.UnderLock()}, "both": {flight, cache.UnderLock()}, "stale": {cache.StaleFor(time.Hour)},
	} {
		if _, err := r.Remember(t.Context(), "k", time.Minute, func(context.Context) (any, error) { return nil, own }, opts...); err != own {
			t.Errorf("%s: %v", name, err)
		}
	}
}
