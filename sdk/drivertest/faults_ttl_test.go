package drivertest

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var ttlFaults = []fault{
	{"reading an expired entry deletes the key", []string{"ttl/stale-read"}, vary(func(f *faulty) {
		f.get = func(ctx context.Context, key string) ([]byte, bool, error) {
			unlock := f.locked()
			i, ok := f.items[key]
			unlock()
			if ok && !i.live() {
				pause()
				f.reference.Delete(ctx, key)
			}
			return i.value, ok && i.live(), nil
		}
	})},
	{"expired entries are there until swept", []string{"ttl/expires", "ttl/expired-is-absent"}, vary(func(f *faulty) {
		f.get = func(_ context.Context, key string) ([]byte, bool, error) {
			defer f.locked()()
			i, ok := f.items[key]
			return i.value, ok, nil
		}
	})},
	{"TTLs are whole seconds, rounded down", []string{"ttl/one-step", "ttl/expires"}, retime(func(d time.Duration) time.Duration { return d.Truncate(time.Second) })},
	{"TTLs are short by half", []string{"ttl/expires", "ttl/few-steps"}, retime(func(d time.Duration) time.Duration { return d / 2 })},
	{"TTLs wrap at 32 bits", []string{"ttl/far"}, retime(func(d time.Duration) time.Duration { return time.Duration(int32(d.Milliseconds())) * time.Millisecond })},
	{"TTLs above 30 days are dates", []string{"ttl/far"}, retime(func(d time.Duration) time.Duration {
		if d > 30*24*time.Hour {
			return 1
		}
		return d
	})},
	{"the old expiry stays", []string{"ttl/overwrite"}, vary(func(f *faulty) {
		f.set = func(_ context.Context, key string, v []byte, ttl time.Duration) error {
			defer f.locked()()
			old, ok := f.find(key)
			f.put(key, v, ttl)
			if ok {
				f.items[key] = item{f.items[key].value, old.deadline}
			}
			return nil
		}
	})},
	{"everything expires", []string{"ttl/none"}, retime(func(d time.Duration) time.Duration {
		if d == 0 {
			return time.Hour
		}
		return d
	})},
	{"Delete counts expired entries", []string{"ttl/expired-is-absent"}, vary(func(f *faulty) {
		f.del = func(_ context.Context, key string) (bool, error) {
			defer f.locked()()
			_, ok := f.items[key]
			delete(f.items, key)
			return ok, nil
		}
	})},
	{"TTL says 0 before the end", []string{"ttl/inspect"}, vary(func(f *faulty) {
		f.ttl = func(ctx context.Context, key string) (time.Duration, bool, error) {
			left, ok, err := f.reference.TTL(ctx, key)
			return left.Truncate(time.Second), ok, err
		}
	})},
	{"Touch creates", []string{"ttl/touch"}, vary(func(f *faulty) {
		f.touch = func(ctx context.Context, key string, ttl time.Duration) (bool, error) {
			value, ok, _ := f.reference.Get(ctx, key)
			return ok, f.reference.Set(ctx, key, value, ttl)
		}
	})},
	{"Touch to no expiry does nothing", []string{"ttl/touch"}, vary(func(f *faulty) {
		f.touch = func(ctx context.Context, key string, ttl time.Duration) (bool, error) {
			if ttl == sdk.NoExpiry {
				_, ok, err := f.reference.Get(ctx, key)
				return ok, err
			}
			return f.reference.Touch(ctx, key, ttl)
		}
	})},
	{"Add and Replace forget the TTL", []string{"ttl/add-and-replace"}, vary(func(f *faulty) {
		f.add = func(ctx context.Context, key string, v []byte, _ time.Duration) (bool, error) {
			return f.reference.Add(ctx, key, v, 0)
		}
		f.replace = func(ctx context.Context, key string, v []byte, _ time.Duration) (bool, error) {
			return f.reference.Replace(ctx, key, v, 0)
		}
	})},
}
