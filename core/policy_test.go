package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

func withPolicy(t *testing.T, f *fake, c cache.StoreConfig, opts ...cache.Option) *cache.CacheRepository {
	t.Helper()
	c.Driver = "fake"
	return repository(t, f.open(t, cache.Config{Stores: map[string]cache.StoreConfig{"main": c}}, opts...), "main")
}

// lives are all operations that take a TTL, on a key that is there already.
var lives = map[string]func(ctx context.Context, r *cache.CacheRepository, ttl time.Duration) error{
	"set": func(ctx context.Context, r *cache.CacheRepository, ttl time.Duration) error {
		return r.Set(ctx, "k", "v", ttl)
	},
	"add": func(ctx context.Context, r *cache.CacheRepository, ttl time.Duration) error {
		_, err := r.Delete(ctx, "k")
		_, err2 := r.Add(ctx, "k", "v", ttl)
		return errors.Join(err, err2)
	},
	"replace": func(ctx context.Context, r *cache.CacheRepository, ttl time.Duration) error {
		_, err := r.Replace(ctx, "k", "v", ttl)
		return err
	},
	"set-many": func(ctx context.Context, r *cache.CacheRepository, ttl time.Duration) error {
		return r.SetMany(ctx, map[string]any{"k": "v"}, ttl)
	},
	"touch": func(ctx context.Context, r *cache.CacheRepository, ttl time.Duration) error {
		_, err := r.Touch(ctx, "k", ttl)
		return err
	},
	"remember": func(ctx context.Context, r *cache.CacheRepository, ttl time.Duration) error {
		_, err := r.Delete(ctx, "k")
		_, err2 := r.Remember(ctx, "k", ttl, constant("v"))
		return errors.Join(err, err2)
	},
	"remember with options": func(ctx context.Context, r *cache.CacheRepository, ttl time.Duration) error {
		_, err := r.Delete(ctx, "k")
		_, err2 := r.Remember(ctx, "k", ttl, constant("v"), cache.HardLimit(time.Second))
		return errors.Join(err, err2)
	},
	"remember locked": func(ctx context.Context, r *cache.CacheRepository, ttl time.Duration) error {
		_, err := r.Delete(ctx, "k")
		_, err2 := cache.RememberLocked(ctx, r, "k", ttl, constant("v"))
		return errors.Join(err, err2)
	},
	"increment": func(ctx context.Context, r *cache.CacheRepository, ttl time.Duration) error {
		_, err := r.Delete(ctx, "k")
		_, err2 := r.Increment(ctx, "k", 1, cache.InitialTTL(ttl))
		return errors.Join(err, err2)
	},
}

func TestDefaultTTLIsWhatTheConfigurationSays(t *testing.T) {
	t.Parallel()
	for name, write := range lives {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			f := newFake()
			r := withPolicy(t, f, cache.StoreConfig{DefaultTTL: 90 * time.Second})
			must(t, r.Set(ctx, "k", "v", time.Hour))
			must(t, write(ctx, r, cache.DefaultTTL))
			if ttl, ok, err := r.TTL(ctx, "k"); ttl != 90*time.Second || !ok || err != nil {
				t.Errorf("%s: TTL = %v, %t, %v", name, ttl, ok, err)
			}
		})
	}
}

// A TTL that a computation came to is never replaced, and a store without a
// default has none to give.
func TestNoOtherTTLIsReplaced(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	with := withPolicy(t, newFake(), cache.StoreConfig{DefaultTTL: time.Minute})
	without := withPolicy(t, newFake(), cache.StoreConfig{})
	must(t, with.Set(ctx, "k", "v", time.Hour))
	must(t, without.Set(ctx, "k", "v", time.Hour))
	for name, write := range lives {
		for _, ttl := range []time.Duration{0, -1, -time.Hour} {
			if err := write(ctx, with, ttl); !errors.Is(err, cache.ErrInvalidTTL) {
				t.Errorf("%s with %v: %v; want ErrInvalidTTL", name, ttl, err)
			}
		}
		err := write(ctx, without, cache.DefaultTTL)
		if !errors.Is(err, cache.ErrInvalidTTL) || !strings.Contains(err.Error(), "no default_ttl") {
			t.Errorf("%s with DefaultTTL and none configured: %v", name, err)
		}
	}
	must(t, with.Set(ctx, "forever", "v", cache.Forever))
	must2(t)(with.Increment(ctx, "n", 1))
	for _, key := range []string{"forever", "n"} {
		if ttl, _, err := with.TTL(ctx, key); ttl != cache.Forever || err != nil {
			t.Errorf("%s lives %v, %v; want Forever", key, ttl, err)
		}
	}
}

func TestJitterOnlyShortensAndOnlyValues(t *testing.T) {
	t.Parallel()
	exact := map[string]bool{"add": true, "increment": true}
	for name, write := range lives {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			r := withPolicy(t, newFake(), cache.StoreConfig{TTLJitter: 0.25})
			seen := map[time.Duration]bool{}
			for range 50 {
				must(t, r.Set(ctx, "k", "v", time.Hour))
				must(t, write(ctx, r, 1000*time.Second))
				ttl, _, err := r.TTL(ctx, "k")
				if err != nil || ttl > 1000*time.Second || ttl < 750*time.Second {
					t.Fatalf("%s: TTL = %v, %v", name, ttl, err)
				}
				seen[ttl] = true
			}
			if exact[name] != (len(seen) == 1) || exact[name] && !seen[1000*time.Second] || !exact[name] && len(seen) < 10 {
				t.Errorf("%s: %d different TTLs", name, len(seen))
			}
			must(t, write(ctx, r, cache.Forever))
			if ttl, _, err := r.TTL(ctx, "k"); ttl != cache.Forever || err != nil {
				t.Errorf("%s: Forever became %v, %v", name, ttl, err)
			}
			must(t, write(ctx, r, 1)) // and still is positive
		})
	}
}

func TestEveryEntryOfABatchHasAJitterOfItsOwn(t *testing.T) {
	t.Parallel()
	r := withPolicy(t, newFake(), cache.StoreConfig{TTLJitter: 0.5})
	values := map[string]any{}
	for i := range 30 {
		values[fmt.Sprint("k", i)] = i
	}
	must(t, r.SetMany(t.Context(), values, time.Hour))
	seen := map[time.Duration]bool{}
	for key := range values {
		ttl, _, err := r.TTL(t.Context(), key)
		must(t, err)
		seen[ttl.Truncate(time.Second)] = true
	}
	if len(seen) < 10 {
		t.Errorf("30 entries have %d TTLs", len(seen))
	}
}

// reads are the operations that on_error: miss is about; the error of each is
// nil where it answered, and what it answered is a miss.
var reads = map[string]func(context.Context, *cache.CacheRepository) (found bool, err error){
	"get": func(ctx context.Context, r *cache.CacheRepository) (bool, error) {
		v, err := r.Get(ctx, "k")
		return v.Found(), err
	},
	"get-many": func(ctx context.Context, r *cache.CacheRepository) (bool, error) {
		many, err := r.GetMany(ctx, []string{"k", "l", "k"})
		if err == nil && len(many) != 2 {
			err = fmt.Errorf("%d keys are answered", len(many))
		}
		return many["k"].Found() || many["l"].Found(), err
	},
	"has": func(ctx context.Context, r *cache.CacheRepository) (bool, error) { return r.Has(ctx, "k") },
	"get typed": func(ctx context.Context, r *cache.CacheRepository) (bool, error) {
		_, ok, err := cache.Of[string](r).Get(ctx, "k")
		return ok, err
	},
}

var outages = map[string]error{
	"unavailable":             cache.ErrUnavailable,
	"its driver unavailable":  cache.ErrDriverUnavailable,
	"overloaded":              cache.ErrOverloaded,
	"slower than its timeout": context.DeadlineExceeded,
}

func failEverywhere(f *fake, err error) {
	for _, op := range []string{"get", "get-many", "ttl", "set", "pull", "add", "replace", "delete", "increment", "touch"} {
		f.failing(op, err)
	}
}

func TestMissOnErrorTurnsOutagesOfReadsIntoMisses(t *testing.T) {
	t.Parallel()
	for outage, cause := range outages {
		for _, where := range []string{"open", "everywhere"} {
			for name, read := range reads {
				f := newFake()
				hook := &recordingHook{}
				miss, fail := withPolicy(t, f, cache.StoreConfig{OnError: "miss"}, cache.WithHook(hook)), withPolicy(t, f, cache.StoreConfig{})
				if where == "open" {
					f.failing("open", cause)
				} else {
					must(t, miss.Set(t.Context(), "k", "v", time.Minute))
					failEverywhere(f, cause)
				}
				hook.seen = nil
				if found, err := read(t.Context(), miss); found || err != nil {
					t.Errorf("%s, %s of %s: found %t, %v; want a miss", outage, where, name, found, err)
				}
				if len(hook.seen) != 1 || strings.HasSuffix(hook.seen[0], "<nil>") {
					t.Errorf("%s, %s of %s: hooks saw %q", outage, where, name, hook.seen)
				}
				if _, err := read(t.Context(), fail); !errors.Is(err, cause) {
					t.Errorf("%s, %s of %s, on_error: fail: %v", outage, where, name, err)
				}
			}
		}
	}
}

func TestMissOnErrorHidesNothingElse(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{cache.ErrCorrupt, cache.ErrInternal, cache.ErrInvalidOptions, errors.ErrUnsupported, fmt.Errorf("%w: %w", cache.ErrUnavailable, cache.ErrCorrupt)} {
		for name, read := range reads {
			f := newFake()
			r := withPolicy(t, f, cache.StoreConfig{OnError: "miss"})
			failEverywhere(f, cause)
			if _, err := read(t.Context(), r); !errors.Is(err, cause) && !strings.Contains(fmt.Sprint(err), cause.Error()) {
				t.Errorf("%s with %v: %v", name, cause, err)
			}
		}
	}
	f := newFake()
	r := withPolicy(t, f, cache.StoreConfig{OnError: "miss"})
	for name, read := range reads { // the caller's own
		failEverywhere(f, cache.ErrUnavailable)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := read(cancelled, r); !errors.Is(err, context.Canceled) {
			t.Errorf("%s under a cancelled context: %v", name, err)
		}
		failEverywhere(f, context.DeadlineExceeded)
		bounded, cancel := context.WithTimeout(t.Context(), time.Hour)
		if _, err := read(bounded, r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s under the caller's deadline: %v", name, err)
		}
		cancel()
	}
	failEverywhere(f, cache.ErrUnavailable)
	for name, write := range lives {
		if strings.HasPrefix(name, "remember") {
			continue
		}
		if err := write(t.Context(), r, time.Minute); !errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("%s: %v; want ErrUnavailable", name, err)
		}
	}
	if _, err := r.Pull(t.Context(), "k"); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("Pull: %v", err)
	}
	if err := r.Lock("k").Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Errorf("a local lock needs no store: %v", err)
	}
	f.failing("open", cache.ErrUnavailable)
	closed := withPolicy(t, f, cache.StoreConfig{OnError: "miss"})
	if err := closed.Lock("k").Do(t.Context(), func(context.Context) error { return nil }); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("a lock of a store that does not open: %v", err)
	}
}

func TestRememberOutlivesAnOutageUnderMissOnError(t *testing.T) {
	t.Parallel()
	options := map[string][]cache.RememberOption{
		"plain":         nil,
		"single flight": {cache.SingleFlight(time.Minute)},
		"stale":         {cache.StaleFor(time.Minute)},
	}
	for outage, cause := range outages {
		for name, opts := range options {
			f := newFake()
			hook := &recordingHook{}
			miss, fail := withPolicy(t, f, cache.StoreConfig{OnError: "miss"}, cache.WithHook(hook)), withPolicy(t, f, cache.StoreConfig{})
			failEverywhere(f, cause)
			v, err := miss.Remember(t.Context(), "k", time.Minute, constant("computed"), opts...)
			if err != nil || string(v.Bytes()) != `"computed"` {
				t.Errorf("%s, %s: %q, %v", outage, name, v.Bytes(), err)
			}
			if text := fmt.Sprint(hook.seen); strings.Count(text, cause.Error()) < 2 {
				t.Errorf("%s, %s: hooks saw %q", outage, name, hook.seen)
			}
			if _, err := fail.Remember(t.Context(), "k", time.Minute, constant("computed"), opts...); !errors.Is(err, cause) {
				t.Errorf("%s, %s, on_error: fail: %v", outage, name, err)
			}
			f.failing("get", nil) // the entry can be read, and not be written
			v, err = fail.Remember(t.Context(), "k", time.Minute, constant("computed"), opts...)
			if !errors.Is(err, cause) || !v.Found() {
				t.Errorf("%s, %s, on_error: fail, set alone fails: %v, %v", outage, name, v, err)
			}
		}
	}
}
