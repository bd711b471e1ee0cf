package drivertest

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A fault is a way in which a driver could be wrong, and the cases that must
// notice.
type fault struct {
	name     string
	caughtBy []string
	vary     func(*reference) sdk.Store
}

// faulty is a reference of which some methods are replaced.
type faulty struct {
	*reference
	get           func(ctx context.Context, key string) ([]byte, bool, error)
	set           func(ctx context.Context, key string, value []byte, ttl time.Duration) error
	del           func(ctx context.Context, key string) (bool, error)
	add           func(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error)
	replace       func(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error)
	pull          func(ctx context.Context, key string) ([]byte, bool, error)
	compareDelete func(ctx context.Context, key string, value []byte) (bool, error)
	increment     func(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error)
	getMany       func(ctx context.Context, keys []string) ([]sdk.Lookup, error)
	setMany       func(ctx context.Context, entries []sdk.Entry) error
	deleteMany    func(ctx context.Context, keys []string) (int, error)
	ttl           func(ctx context.Context, key string) (time.Duration, bool, error)
	touch         func(ctx context.Context, key string, ttl time.Duration) (bool, error)
	keys          func(ctx context.Context, prefix string, cursor []byte, limit int) ([]string, []byte, error)
	clear         func(ctx context.Context, prefix string, cursor []byte) ([]byte, int, error)
	acquire       func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error)
	renew         func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error)
	release       func(ctx context.Context, q sdk.LeaseRequest) (bool, error)
	wait          func(ctx context.Context, q sdk.LeaseRequest) error
	stats         func(ctx context.Context) ([]sdk.Stat, error)
}

// vary replaces methods of a whole reference.
func vary(change func(f *faulty)) func(*reference) sdk.Store {
	return func(r *reference) sdk.Store {
		f := &faulty{
			r, r.Get, r.Set, r.Delete, r.Add, r.Replace, r.Pull, r.CompareDelete, r.Increment, r.GetMany, r.SetMany, r.DeleteMany,
			r.TTL, r.Touch, r.Keys, r.Clear, r.AcquireLease, r.RenewLease, r.ReleaseLease, r.WaitLease, r.Stats,
		}
		change(f)
		return f
	}
}

// rekey makes every method see another key.
func rekey(key func(string) string) func(*reference) sdk.Store {
	return vary(func(f *faulty) {
		r := f.reference
		f.get = func(ctx context.Context, k string) ([]byte, bool, error) { return r.Get(ctx, key(k)) }
		f.set = func(ctx context.Context, k string, v []byte, ttl time.Duration) error {
			return r.Set(ctx, key(k), v, ttl)
		}
		f.del = func(ctx context.Context, k string) (bool, error) { return r.Delete(ctx, key(k)) }
		f.getMany = func(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
			var changed []string
			for _, k := range keys {
				changed = append(changed, key(k))
			}
			return r.GetMany(ctx, changed)
		}
		f.acquire = func(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
			q.Key = key(q.Key)
			return r.AcquireLease(ctx, q)
		}
		f.release = func(ctx context.Context, q sdk.LeaseRequest) (bool, error) {
			q.Key = key(q.Key)
			return r.ReleaseLease(ctx, q)
		}
	})
}

// retime makes every write see another TTL.
func retime(ttl func(time.Duration) time.Duration) func(*reference) sdk.Store {
	return vary(func(f *faulty) {
		r := f.reference
		f.set = func(ctx context.Context, k string, v []byte, d time.Duration) error { return r.Set(ctx, k, v, ttl(d)) }
		f.add = func(ctx context.Context, k string, v []byte, d time.Duration) (bool, error) {
			return r.Add(ctx, k, v, ttl(d))
		}
	})
}

// revalue makes Set store something else.
func revalue(value func([]byte) []byte) func(*reference) sdk.Store {
	return vary(func(f *faulty) {
		r := f.reference
		f.set = func(ctx context.Context, k string, v []byte, ttl time.Duration) error {
			return r.Set(ctx, k, value(v), ttl)
		}
	})
}

func traits(change func(*sdk.Traits)) func(*reference) sdk.Store {
	return func(r *reference) sdk.Store {
		change(&r.traits)
		return r
	}
}

// pause lets others run between two steps that should have been one.
func pause() {
	for range 3 {
		runtime.Gosched()
	}
	time.Sleep(50 * time.Microsecond)
}

var faults = slices.Concat(
	valueFaults, keyFaults, ttlFaults, atomicFaults, counterFaults, batchFaults, listFaults, leaseFaults, lifeFaults, announcementFaults,
)

func (f *faulty) Get(ctx context.Context, key string) ([]byte, bool, error) { return f.get(ctx, key) }
func (f *faulty) Set(ctx context.Context, key string, v []byte, ttl time.Duration) error {
	return f.set(ctx, key, v, ttl)
}
func (f *faulty) Delete(ctx context.Context, key string) (bool, error) { return f.del(ctx, key) }
func (f *faulty) Add(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
	return f.add(ctx, key, v, ttl)
}
func (f *faulty) Replace(ctx context.Context, key string, v []byte, ttl time.Duration) (bool, error) {
	return f.replace(ctx, key, v, ttl)
}
func (f *faulty) Pull(ctx context.Context, key string) ([]byte, bool, error) { return f.pull(ctx, key) }
func (f *faulty) CompareDelete(ctx context.Context, key string, v []byte) (bool, error) {
	return f.compareDelete(ctx, key, v)
}
func (f *faulty) Increment(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	return f.increment(ctx, key, delta, ttl)
}
func (f *faulty) GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	return f.getMany(ctx, keys)
}
func (f *faulty) SetMany(ctx context.Context, entries []sdk.Entry) error {
	return f.setMany(ctx, entries)
}
func (f *faulty) DeleteMany(ctx context.Context, keys []string) (int, error) {
	return f.deleteMany(ctx, keys)
}
func (f *faulty) TTL(ctx context.Context, key string) (time.Duration, bool, error) {
	return f.ttl(ctx, key)
}
func (f *faulty) Touch(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	return f.touch(ctx, key, ttl)
}
func (f *faulty) Keys(ctx context.Context, prefix string, cursor []byte, limit int) ([]string, []byte, error) {
	return f.keys(ctx, prefix, cursor, limit)
}
func (f *faulty) Clear(ctx context.Context, prefix string, cursor []byte) ([]byte, int, error) {
	return f.clear(ctx, prefix, cursor)
}
func (f *faulty) AcquireLease(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return f.acquire(ctx, q)
}
func (f *faulty) RenewLease(ctx context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return f.renew(ctx, q)
}
func (f *faulty) ReleaseLease(ctx context.Context, q sdk.LeaseRequest) (bool, error) {
	return f.release(ctx, q)
}
func (f *faulty) WaitLease(ctx context.Context, q sdk.LeaseRequest) error { return f.wait(ctx, q) }
func (f *faulty) Stats(ctx context.Context) ([]sdk.Stat, error)           { return f.stats(ctx) }
