package drivertest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A reference is the contract written down as a store: one lock, one map,
// every step under the lock. Faults are variations of it.
type reference struct {
	*disk
	traits sdk.Traits
}

// A disk is the data that stores of one name share.
type disk struct {
	mu      sync.Mutex // guards below
	items   map[string]item
	leases  map[[2]string]held
	changed chan struct{} // closed and renewed at each release
}

type item struct {
	value    []byte
	deadline time.Time // zero: none
}

type held struct {
	owner string
	until time.Time
	fence uint64
}

func newDisk() *disk {
	return &disk{items: make(map[string]item), leases: make(map[[2]string]held), changed: make(chan struct{})}
}

// newReference shares its disk with all of this process. In a child it says so:
// nobody else is there.
func newReference(d *disk) *reference {
	tr := sdk.Traits{LockStrategy: sdk.StrategyLease, LockScope: sdk.ScopeHost, MaxValue: 6 << 20, ReleaseCompares: true}
	if inChild() {
		tr.Class, tr.LockScope = sdk.ClassVolatile, sdk.ScopeProcess
	}
	return &reference{d, tr}
}

func deadline(ttl time.Duration) time.Time {
	if ttl == sdk.NoExpiry {
		return time.Time{}
	}
	return time.Now().Add(ttl)
}

func (i item) live() bool { return i.deadline.IsZero() || time.Now().Before(i.deadline) }

// find returns the live item, under d.mu.
func (d *disk) find(key string) (item, bool) {
	i, ok := d.items[key]
	if !ok || !i.live() {
		return item{}, false
	}
	return i, true
}

// put stores a copy, under d.mu.
func (d *disk) put(key string, value []byte, ttl time.Duration) error {
	if len(value) > 6<<20 {
		return sdk.ErrTooLarge
	}
	d.items[key] = item{append([]byte{}, value...), deadline(ttl)}
	return nil
}

// locked runs a step under the lock.
func (d *disk) locked() (unlock func()) {
	d.mu.Lock()
	return d.mu.Unlock
}

func (r *reference) Traits() sdk.Traits { return r.traits }

func (r *reference) Close() error { return nil }

func (r *reference) Get(_ context.Context, key string) ([]byte, bool, error) {
	defer r.locked()()
	i, ok := r.find(key)
	return i.value, ok, nil
}

func (r *reference) Set(_ context.Context, key string, value []byte, ttl time.Duration) error {
	defer r.locked()()
	return r.put(key, value, ttl)
}

func (r *reference) Delete(_ context.Context, key string) (bool, error) {
	defer r.locked()()
	_, ok := r.find(key)
	delete(r.items, key)
	return ok, nil
}

func (r *reference) Add(_ context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	defer r.locked()()
	if _, ok := r.find(key); ok {
		return false, nil
	}
	err := r.put(key, value, ttl)
	return err == nil, err
}

func (r *reference) Replace(_ context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	defer r.locked()()
	if _, ok := r.find(key); !ok {
		return false, nil
	}
	err := r.put(key, value, ttl)
	return err == nil, err
}

func (r *reference) Pull(_ context.Context, key string) ([]byte, bool, error) {
	defer r.locked()()
	i, ok := r.find(key)
	delete(r.items, key)
	return i.value, ok, nil
}

func (r *reference) CompareDelete(_ context.Context, key string, value []byte) (bool, error) {
	defer r.locked()()
	i, ok := r.find(key)
	if !ok || !bytes.Equal(i.value, value) {
		return false, nil
	}
	delete(r.items, key)
	return true, nil
}

func (r *reference) Increment(_ context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
	defer r.locked()()
	i, ok := r.find(key)
	if !ok {
		i = item{[]byte("0"), deadline(initialTTL)}
	}
	sum, err := sdk.AddInteger(i.value, delta)
	if err == nil {
		r.items[key] = item{sdk.FormatInteger(sum), i.deadline}
	}
	return sum, err
}

func (r *reference) GetMany(_ context.Context, keys []string) ([]sdk.Lookup, error) {
	defer r.locked()()
	found := make([]sdk.Lookup, len(keys))
	for n, key := range keys {
		i, ok := r.find(key)
		found[n] = sdk.Lookup{Value: i.value, OK: ok}
	}
	return found, nil
}

func (r *reference) SetMany(_ context.Context, entries []sdk.Entry) error {
	defer r.locked()()
	var failed []sdk.KeyError
	for _, e := range entries {
		if err := r.put(e.Key, e.Value, e.TTL); err != nil {
			failed = append(failed, sdk.KeyError{Key: e.Key, Err: err})
		}
	}
	if failed != nil {
		return &sdk.BatchError{Failed: failed}
	}
	return nil
}

func (r *reference) DeleteMany(ctx context.Context, keys []string) (existed int, err error) {
	for _, key := range keys {
		if ok, _ := r.Delete(ctx, key); ok {
			existed++
		}
	}
	return existed, nil
}

func (r *reference) TTL(_ context.Context, key string) (time.Duration, bool, error) {
	defer r.locked()()
	i, ok := r.find(key)
	if !ok || i.deadline.IsZero() {
		return sdk.NoExpiry, ok, nil
	}
	return max(time.Until(i.deadline), 1), true, nil
}

func (r *reference) Touch(_ context.Context, key string, ttl time.Duration) (bool, error) {
	defer r.locked()()
	i, ok := r.find(key)
	if ok {
		r.items[key] = item{i.value, deadline(ttl)}
	}
	return ok, nil
}

// Keys pages through the sorted keys; a cursor is the last one listed.
func (r *reference) Keys(_ context.Context, prefix string, cursor []byte, limit int) (keys []string, next []byte, err error) {
	defer r.locked()()
	for key, i := range r.items {
		if i.live() && strings.HasPrefix(key, prefix) && key > string(cursor) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if len(keys) > limit {
		keys = keys[:limit]
		next = []byte(keys[limit-1])
	}
	return keys, next, nil
}

func (r *reference) Clear(ctx context.Context, prefix string, cursor []byte) (next []byte, removed int, err error) {
	keys, next, _ := r.Keys(ctx, prefix, cursor, 100)
	removed, err = r.DeleteMany(ctx, keys)
	return next, removed, err
}

func (r *reference) AcquireLease(_ context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	defer r.locked()()
	h := r.leases[[2]string{q.Strategy, q.Key}]
	if left := time.Until(h.until); left > 0 && h.owner != q.Owner {
		return sdk.LeaseGrant{Remaining: left}, nil
	}
	if q.Strategy == sdk.StrategyExclusive {
		h.fence = max(h.fence+1, uint64(time.Now().UnixMicro()))
	}
	return r.grant(q, h.fence), nil
}

func (d *disk) grant(q sdk.LeaseRequest, fence uint64) sdk.LeaseGrant {
	d.leases[[2]string{q.Strategy, q.Key}] = held{q.Owner, time.Now().Add(q.Lease), fence}
	return sdk.LeaseGrant{OK: true, Fence: fence, Remaining: q.Lease}
}

func (r *reference) RenewLease(_ context.Context, q sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	defer r.locked()()
	h := r.leases[[2]string{q.Strategy, q.Key}]
	if h.owner != q.Owner || time.Until(h.until) <= 0 {
		return sdk.LeaseGrant{}, nil
	}
	return r.grant(q, h.fence), nil
}

func (r *reference) ReleaseLease(_ context.Context, q sdk.LeaseRequest) (bool, error) {
	defer r.locked()()
	h := r.leases[[2]string{q.Strategy, q.Key}]
	if h.owner != q.Owner || time.Until(h.until) <= 0 {
		return false, nil
	}
	r.leases[[2]string{q.Strategy, q.Key}] = held{fence: h.fence}
	close(r.changed)
	r.changed = make(chan struct{})
	return true, nil
}

func (r *reference) WaitLease(ctx context.Context, q sdk.LeaseRequest) error {
	unlock := r.locked()
	changed := r.changed
	left := time.Until(r.leases[[2]string{q.Strategy, q.Key}].until)
	unlock()
	select {
	case <-changed:
	case <-time.After(left):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (r *reference) Ping(context.Context) error { return nil }

func (r *reference) Stats(context.Context) ([]sdk.Stat, error) {
	return []sdk.Stat{{Name: "entries", Value: "some"}}, nil
}
