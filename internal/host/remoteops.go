package host

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A found is a value and whether it was there.
type found[T any] struct {
	value T
	ok    bool
}

// A page is one page of a walk.
type page[T any] struct {
	next  []byte
	items T
}

// Get is sdk.Store's.
func (r *RemoteStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	f, err := call(ctx, r, again, func(ctx context.Context, s Store) (f found[[]byte], err error) {
		f.value, f.ok, err = s.Get(ctx, key)
		return f, err
	})
	return f.value, f.ok, err
}

// Set is sdk.Store's.
func (r *RemoteStore) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := call(ctx, r, again, func(ctx context.Context, s Store) (struct{}, error) {
		return struct{}{}, s.Set(ctx, key, value, ttl)
	})
	return err
}

// Delete is sdk.Store's. After a crash existed may be false for an entry that
// this call removed before it was sent again.
func (r *RemoteStore) Delete(ctx context.Context, key string) (existed bool, err error) {
	return call(ctx, r, again, func(ctx context.Context, s Store) (bool, error) { return s.Delete(ctx, key) })
}

// Add is sdk.Adder's.
func (r *RemoteStore) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (added bool, err error) {
	return call(ctx, r, once, func(ctx context.Context, s Store) (bool, error) { return s.Add(ctx, key, value, ttl) })
}

// Replace is sdk.Replacer's.
func (r *RemoteStore) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error) {
	return call(ctx, r, once, func(ctx context.Context, s Store) (bool, error) { return s.Replace(ctx, key, value, ttl) })
}

// Pull is sdk.Puller's.
func (r *RemoteStore) Pull(ctx context.Context, key string) ([]byte, bool, error) {
	f, err := call(ctx, r, once, func(ctx context.Context, s Store) (f found[[]byte], err error) {
		f.value, f.ok, err = s.Pull(ctx, key)
		return f, err
	})
	return f.value, f.ok, err
}

// Increment is sdk.Counter's.
func (r *RemoteStore) Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
	return call(ctx, r, once, func(ctx context.Context, s Store) (int64, error) {
		return s.Increment(ctx, key, delta, initialTTL)
	})
}

// CompareDelete is sdk.CompareDeleter's. After a crash deleted may be false for
// an entry that this call removed before it was sent again.
func (r *RemoteStore) CompareDelete(ctx context.Context, key string, value []byte) (deleted bool, err error) {
	return call(ctx, r, again, func(ctx context.Context, s Store) (bool, error) { return s.CompareDelete(ctx, key, value) })
}

// GetMany is sdk.Batcher's, and answers every key.
func (r *RemoteStore) GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	return call(ctx, r, again, func(ctx context.Context, s Store) ([]sdk.Lookup, error) { return s.GetMany(ctx, keys) })
}

// SetMany is sdk.Batcher's.
func (r *RemoteStore) SetMany(ctx context.Context, entries []sdk.Entry) error {
	_, err := call(ctx, r, again, func(ctx context.Context, s Store) (struct{}, error) {
		return struct{}{}, s.SetMany(ctx, entries)
	})
	return err
}

// DeleteMany is sdk.Batcher's. After a crash it doesn't count what it removed
// before it was sent again.
func (r *RemoteStore) DeleteMany(ctx context.Context, keys []string) (existed int, err error) {
	return call(ctx, r, again, func(ctx context.Context, s Store) (int, error) { return s.DeleteMany(ctx, keys) })
}

// TTL is sdk.Inspector's.
func (r *RemoteStore) TTL(ctx context.Context, key string) (time.Duration, bool, error) {
	f, err := call(ctx, r, again, func(ctx context.Context, s Store) (f found[time.Duration], err error) {
		f.value, f.ok, err = s.TTL(ctx, key)
		return f, err
	})
	return f.value, f.ok, err
}

// Touch is sdk.Inspector's.
func (r *RemoteStore) Touch(ctx context.Context, key string, ttl time.Duration) (touched bool, err error) {
	return call(ctx, r, again, func(ctx context.Context, s Store) (bool, error) { return s.Touch(ctx, key, ttl) })
}

// Keys is sdk.Lister's.
func (r *RemoteStore) Keys(ctx context.Context, prefix string, cursor []byte, limit int) ([]string, []byte, error) {
	p, err := call(ctx, r, again, func(ctx context.Context, s Store) (p page[[]string], err error) {
		p.items, p.next, err = s.Keys(ctx, prefix, cursor, limit)
		return p, err
	})
	return p.items, p.next, err
}

// Clear is sdk.Clearer's. After a crash removed leaves out what was removed
// before it was sent again.
func (r *RemoteStore) Clear(ctx context.Context, prefix string, cursor []byte) (next []byte, removed int, err error) {
	p, err := call(ctx, r, again, func(ctx context.Context, s Store) (p page[int], err error) {
		p.next, p.items, err = s.Clear(ctx, prefix, cursor)
		return p, err
	})
	return p.next, p.items, err
}

// Ping is sdk.Pinger's.
func (r *RemoteStore) Ping(ctx context.Context) error {
	_, err := call(ctx, r, again, func(ctx context.Context, s Store) (struct{}, error) { return struct{}{}, s.Ping(ctx) })
	return err
}

// Stats is sdk.StatsReporter's.
func (r *RemoteStore) Stats(ctx context.Context) ([]sdk.Stat, error) {
	return call(ctx, r, again, func(ctx context.Context, s Store) ([]sdk.Stat, error) { return s.Stats(ctx) })
}
