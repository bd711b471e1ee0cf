package drivertest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var atomicFaults = []fault{
	{"Add looks before it stores", []string{"atomic/add-race", "atomic/add-race-between-processes", "atomic/add-over-expired"}, vary(func(f *faulty) {
		f.add = func(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
			if _, ok, _ := f.reference.Get(ctx, key); ok {
				return false, nil
			}
			pause()
			return true, f.reference.Set(ctx, key, v, ttl)
		}
	})},
	{"Add loses to an expired entry", []string{"ttl/expired-is-absent", "atomic/add-over-expired"}, vary(func(f *faulty) {
		f.add = func(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
			unlock := f.locked()
			_, there := f.items[key]
			unlock()
			if there {
				return false, nil
			}
			return f.reference.Add(ctx, key, v, ttl)
		}
	})},
	{"Add changes the expiry of what is there", []string{"atomic/add"}, vary(func(f *faulty) {
		f.add = func(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
			added, err := f.reference.Add(ctx, key, v, ttl)
			f.reference.Touch(ctx, key, ttl)
			return added, err
		}
	})},
	{"Replace creates", []string{"atomic/replace"}, vary(func(f *faulty) {
		f.replace = func(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
			return true, f.reference.Set(ctx, key, v, ttl)
		}
	})},
	{"Replace looks before it stores", []string{"atomic/replace-race"}, vary(func(f *faulty) {
		f.replace = func(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
			if _, ok, _ := f.reference.Get(ctx, key); !ok {
				return false, nil
			}
			pause()
			return true, f.reference.Set(ctx, key, v, ttl)
		}
	})},
	{"Pull reads and then deletes", []string{"atomic/pull-race", "atomic/pull-against-add"}, vary(func(f *faulty) {
		f.pull = func(ctx context.Context, key string) ([]byte, bool, error) {
			value, ok, _ := f.reference.Get(ctx, key)
			pause()
			f.reference.Delete(ctx, key)
			return value, ok, nil
		}
	})},
	{"Pull leaves the entry", []string{"atomic/pull"}, vary(func(f *faulty) { f.pull = f.get })},
	{"CompareDelete looks before it deletes", []string{"atomic/compare-delete-race"}, vary(func(f *faulty) {
		f.compareDelete = func(ctx context.Context, key string, v []byte) (bool, error) {
			value, ok, _ := f.reference.Get(ctx, key)
			if !ok || !bytes.Equal(value, v) {
				return false, nil
			}
			pause()
			return f.reference.Delete(ctx, key)
		}
	})},
	{"CompareDelete compares the beginning", []string{"atomic/compare-delete"}, vary(func(f *faulty) {
		f.compareDelete = func(ctx context.Context, key string, v []byte) (bool, error) {
			value, _, _ := f.reference.Get(ctx, key)
			if !bytes.HasPrefix(value, v) {
				return false, nil
			}
			return f.reference.Delete(ctx, key)
		}
	})},
	{"CompareDelete doesn't compare", []string{"atomic/compare-delete"}, vary(func(f *faulty) {
		f.compareDelete = func(ctx context.Context, key string, _ []byte) (bool, error) { return f.reference.Delete(ctx, key) }
	})},
}

var counterFaults = []fault{
	{"Increment forgets the expiry", []string{"counters/expiry-kept"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
			_, live, _ := f.reference.Get(ctx, key)
			sum, err := f.reference.Increment(ctx, key, delta, initialTTL)
			if live {
				f.reference.Touch(ctx, key, sdk.NoExpiry)
			}
			return sum, err
		}
	})},
	{"Increment prolongs the expiry", []string{"counters/expiry-kept"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
			sum, err := f.reference.Increment(ctx, key, delta, initialTTL)
			f.reference.Touch(ctx, key, initialTTL)
			return sum, err
		}
	})},
	{"a counter at 0 is new", []string{"counters/through-zero"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
			if value, _, _ := f.reference.Get(ctx, key); string(value) == "0" {
				f.reference.Delete(ctx, key)
			}
			return f.reference.Increment(ctx, key, delta, initialTTL)
		}
	})},
	{"a new counter has no expiry", []string{"counters/initial-ttl", "counters/no-immortal"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, _ time.Duration) (int64, error) {
			return f.reference.Increment(ctx, key, delta, sdk.NoExpiry)
		}
	})},
	{"Increment goes on from an expired value", []string{"counters/initial-ttl"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
			unlock := f.locked()
			if i, ok := f.items[key]; ok && !i.live() {
				f.items[key] = item{i.value, deadline(initialTTL)}
			}
			unlock()
			return f.reference.Increment(ctx, key, delta, initialTTL)
		}
	})},
	{"Increment checks, then counts", []string{"counters/no-immortal"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
			_, live, _ := f.reference.Get(ctx, key)
			pause()
			if live {
				initialTTL = sdk.NoExpiry // by now it may have expired
			}
			return f.reference.Increment(ctx, key, delta, initialTTL)
		}
	})},
	{"Increment reads and then writes", []string{"counters/no-lost-step", "counters/no-lost-step-between-processes"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
			value, ok, _ := f.reference.Get(ctx, key)
			if !ok {
				value = []byte("0")
			}
			sum, err := sdk.AddInteger(value, delta)
			if err != nil {
				return 0, err
			}
			runtime.Gosched()
			return sum, f.reference.Set(ctx, key, sdk.FormatInteger(sum), ttl)
		}
	})},
	{"numbers are read generously", []string{"counters/grammar"}, lenient(func(text string) (int64, error) { return strconv.ParseInt(strings.TrimSpace(text), 10, 64) })},
	{"numbers are what text begins with", []string{"counters/grammar"}, lenient(func(text string) (int64, error) {
		for end := len(text); end > 0; end-- {
			if n, err := strconv.ParseInt(text[:end], 10, 64); err == nil {
				return n, nil
			}
		}
		return 0, nil
	})},
	{"counters wrap around", []string{"counters/overflow"}, lenient(func(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) })},
	{"counters are floats", []string{"counters/overflow", "counters/grammar"}, lenient(func(text string) (int64, error) {
		n, err := strconv.ParseFloat(text, 64)
		return int64(n), err
	})},
	{"an overflow ruins the counter", []string{"counters/overflow"}, vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
			sum, err := f.reference.Increment(ctx, key, delta, ttl)
			if errors.Is(err, sdk.ErrOverflow) {
				f.reference.Set(ctx, key, []byte("0"), ttl)
			}
			return sum, err
		}
	})},
}

// lenient counts with a reader of numbers of its own, and without a look at the
// sum.
func lenient(parse func(string) (int64, error)) func(*reference) sdk.Store {
	return vary(func(f *faulty) {
		f.increment = func(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
			defer f.locked()()
			i, ok := f.find(key)
			if !ok {
				i = item{[]byte("0"), deadline(ttl)}
			}
			n, err := parse(string(i.value))
			if err != nil {
				return 0, sdk.ErrNotInteger
			}
			f.items[key] = item{sdk.FormatInteger(n + delta), i.deadline}
			return n + delta, nil
		}
	})
}
