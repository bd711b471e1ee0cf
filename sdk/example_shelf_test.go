package sdk_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A shelf has every optional interface, so that the examples can show them. One
// mutex makes each operation atomic. What it lacks to be a driver is expiry:
// entries stay for ever.
type shelf struct {
	mu      sync.Mutex // guards below
	entries map[string][]byte
	leases  map[sdk.LeaseRequest]lease // by strategy and key
	fence   uint64
}

type lease struct {
	owner string
	ends  time.Time
	fence uint64
}

func newShelf(context.Context, struct{}) (*shelf, error) {
	return &shelf{entries: map[string][]byte{}, leases: map[sdk.LeaseRequest]lease{}}, nil
}

var _ interface {
	sdk.Store
	sdk.Adder
	sdk.Replacer
	sdk.Puller
	sdk.Counter
	sdk.CompareDeleter
	sdk.Batcher
	sdk.Clearer
	sdk.Lister
	sdk.Inspector
	sdk.Leaser
	sdk.LeaseRenewer
	sdk.LeaseWaiter
	sdk.Pinger
	sdk.StatsReporter
	sdk.TraitReporter
} = (*shelf)(nil)

// do runs fn under the mutex.
func (s *shelf) do(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

func (s *shelf) Get(_ context.Context, key string) (value []byte, ok bool, err error) {
	s.do(func() { value, ok = s.entries[key] })
	return value, ok, nil
}

func (s *shelf) Set(_ context.Context, key string, value []byte, _ time.Duration) error {
	s.do(func() { s.entries[key] = bytes.Clone(value) }) // the slice is the caller's again
	return nil
}

func (s *shelf) Delete(_ context.Context, key string) (existed bool, err error) {
	s.do(func() { _, existed = s.entries[key]; delete(s.entries, key) })
	return existed, nil
}

func (s *shelf) Close() error { return nil }

func (s *shelf) Add(_ context.Context, key string, value []byte, _ time.Duration) (added bool, err error) {
	s.do(func() {
		if _, taken := s.entries[key]; !taken {
			s.entries[key], added = bytes.Clone(value), true
		}
	})
	return added, nil
}

func (s *shelf) Replace(_ context.Context, key string, value []byte, _ time.Duration) (replaced bool, err error) {
	s.do(func() {
		if _, replaced = s.entries[key]; replaced {
			s.entries[key] = bytes.Clone(value)
		}
	})
	return replaced, nil
}

func (s *shelf) Pull(_ context.Context, key string) (value []byte, ok bool, err error) {
	s.do(func() { value, ok = s.entries[key]; delete(s.entries, key) })
	return value, ok, nil
}

func (s *shelf) Increment(_ context.Context, key string, delta int64, _ time.Duration) (sum int64, err error) {
	s.do(func() {
		value, ok := s.entries[key]
		if !ok {
			value = sdk.FormatInteger(0)
		}
		if sum, err = sdk.AddInteger(value, delta); err == nil {
			s.entries[key] = sdk.FormatInteger(sum)
		}
	})
	return sum, err
}

func (s *shelf) CompareDelete(_ context.Context, key string, value []byte) (deleted bool, err error) {
	s.do(func() {
		if found, ok := s.entries[key]; ok && bytes.Equal(found, value) {
			delete(s.entries, key)
			deleted = true
		}
	})
	return deleted, nil
}

func (s *shelf) GetMany(_ context.Context, keys []string) (found []sdk.Lookup, err error) {
	s.do(func() {
		for _, key := range keys {
			value, ok := s.entries[key]
			found = append(found, sdk.Lookup{Value: value, OK: ok})
		}
	})
	return found, nil
}

func (s *shelf) SetMany(_ context.Context, entries []sdk.Entry) error {
	var failed []sdk.KeyError
	s.do(func() {
		for _, e := range entries {
			if len(e.Value) > 1000 {
				failed = append(failed, sdk.KeyError{Key: e.Key, Err: sdk.ErrTooLarge})
				continue
			}
			s.entries[e.Key] = bytes.Clone(e.Value)
		}
	})
	if len(failed) > 0 {
		return &sdk.BatchError{Failed: failed}
	}
	return nil
}

func (s *shelf) DeleteMany(ctx context.Context, keys []string) (existed int, err error) {
	for _, key := range keys {
		if was, _ := s.Delete(ctx, key); was {
			existed++
		}
	}
	return existed, nil
}

// sorted are the keys with a prefix, at most limit of them, behind the cursor.
func (s *shelf) sorted(prefix string, cursor []byte, limit int) (keys []string, next []byte) {
	s.do(func() {
		for key := range s.entries {
			if strings.HasPrefix(key, prefix) && key > string(cursor) {
				keys = append(keys, key)
			}
		}
	})
	slices.Sort(keys)
	if len(keys) <= limit {
		return keys, nil
	}
	return keys[:limit], []byte(keys[limit-1])
}

func (s *shelf) Keys(_ context.Context, prefix string, cursor []byte, limit int) (keys []string, next []byte, err error) {
	keys, next = s.sorted(prefix, cursor, limit)
	return keys, next, nil
}

func (s *shelf) Clear(ctx context.Context, prefix string, cursor []byte) (next []byte, removed int, err error) {
	keys, next := s.sorted(prefix, cursor, 1000)
	removed, err = s.DeleteMany(ctx, keys)
	return next, removed, err
}

func (s *shelf) TTL(_ context.Context, key string) (ttl time.Duration, ok bool, err error) {
	s.do(func() { _, ok = s.entries[key] })
	return sdk.NoExpiry, ok, nil
}

func (s *shelf) Touch(ctx context.Context, key string, _ time.Duration) (touched bool, err error) {
	_, touched, err = s.TTL(ctx, key)
	return touched, err
}

// record is where a request's lease is kept.
func record(r sdk.LeaseRequest) sdk.LeaseRequest {
	return sdk.LeaseRequest{Strategy: r.Strategy, Key: r.Key}
}

func (s *shelf) AcquireLease(_ context.Context, r sdk.LeaseRequest) (grant sdk.LeaseGrant, err error) {
	s.do(func() {
		held := s.leases[record(r)]
		if left := time.Until(held.ends); left > 0 && held.owner != r.Owner {
			grant = sdk.LeaseGrant{Remaining: left}
			return
		}
		s.fence = max(s.fence+1, uint64(time.Now().UnixMicro()))
		s.leases[record(r)] = lease{r.Owner, time.Now().Add(r.Lease), s.fence}
		grant = sdk.LeaseGrant{OK: true, Fence: s.fence, Remaining: r.Lease}
	})
	return grant, nil
}

func (s *shelf) RenewLease(_ context.Context, r sdk.LeaseRequest) (grant sdk.LeaseGrant, err error) {
	s.do(func() {
		held := s.leases[record(r)]
		if held.owner != r.Owner || time.Until(held.ends) <= 0 {
			return
		}
		s.leases[record(r)] = lease{r.Owner, time.Now().Add(r.Lease), held.fence}
		grant = sdk.LeaseGrant{OK: true, Fence: held.fence, Remaining: r.Lease}
	})
	return grant, nil
}

func (s *shelf) ReleaseLease(_ context.Context, r sdk.LeaseRequest) (released bool, err error) {
	s.do(func() {
		if released = s.leases[record(r)].owner == r.Owner; released {
			delete(s.leases, record(r))
		}
	})
	return released, nil
}

// WaitLease may return too early, and here always does.
func (s *shelf) WaitLease(context.Context, sdk.LeaseRequest) error { return nil }

func (s *shelf) Ping(context.Context) error { return nil }

func (s *shelf) Stats(context.Context) (stats []sdk.Stat, err error) {
	s.do(func() {
		stats = []sdk.Stat{{Name: "entries", Value: string(sdk.FormatInteger(int64(len(s.entries))))}}
	})
	return stats, nil
}

func (s *shelf) Traits() sdk.Traits {
	return sdk.Traits{
		LockStrategy:    sdk.StrategyRedlock,
		LockScope:       sdk.ScopeProcess,
		Class:           sdk.ClassVolatile,
		ReleaseCompares: true,
		Dispatch:        sdk.DispatchInline, // no call waits for anything
	}
}
