package memory

import (
	"bytes"
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/maypok86/otter/v2"
)

// A change decides what becomes of a key, under the engine's lock of it: what
// it returns is stored, unless it is the live entry itself. old is nil unless
// it is live, and nil removes it.
type change func(old *entry) *entry

// compute applies a change atomically.
func (s *store) compute(key string, decide change) {
	s.entries.Compute(key, func(old *entry, live bool) (*entry, otter.ComputeOp) {
		if !live {
			old = nil
		}
		e := decide(old)
		switch {
		case e == old:
			return old, otter.CancelOp
		case e == nil:
			return nil, otter.InvalidateOp
		case live:
			e.place = old.place
		default:
			e.place = s.index.add(key)
		}
		return e, otter.WriteOp
	})
}

// Get implements sdk.Store.
func (s *store) Get(_ context.Context, key string) (value []byte, ok bool, err error) {
	e, ok := s.entries.GetIfPresent(key)
	if !ok {
		s.misses.Add(1)
		return nil, false, nil
	}
	s.hits.Add(1)
	return e.value, true, nil
}

// Set implements sdk.Store.
func (s *store) Set(_ context.Context, key string, value []byte, ttl time.Duration) error {
	e, err := s.newEntry(value, ttl)
	if err != nil {
		return err
	}
	s.compute(key, func(*entry) *entry { return e })
	return nil
}

// Delete implements sdk.Store.
func (s *store) Delete(_ context.Context, key string) (existed bool, err error) {
	s.compute(key, func(old *entry) *entry {
		existed = old != nil
		return nil
	})
	return existed, nil
}

// Add implements sdk.Adder.
func (s *store) Add(_ context.Context, key string, value []byte, ttl time.Duration) (added bool, err error) {
	e, err := s.newEntry(value, ttl)
	if err != nil {
		return false, err
	}
	s.compute(key, func(old *entry) *entry {
		if old != nil {
			return old
		}
		added = true
		return e
	})
	return added, nil
}

// Replace implements sdk.Replacer.
func (s *store) Replace(_ context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error) {
	e, err := s.newEntry(value, ttl)
	if err != nil {
		return false, err
	}
	s.compute(key, func(old *entry) *entry {
		if old == nil {
			return nil
		}
		replaced = true
		return e
	})
	return replaced, nil
}

// Pull implements sdk.Puller.
func (s *store) Pull(_ context.Context, key string) (value []byte, ok bool, err error) {
	s.compute(key, func(old *entry) *entry {
		if old != nil {
			value, ok = old.value, true
		}
		return nil
	})
	return value, ok, nil
}

// CompareDelete implements sdk.CompareDeleter.
func (s *store) CompareDelete(_ context.Context, key string, value []byte) (deleted bool, err error) {
	s.compute(key, func(old *entry) *entry {
		if old == nil || !bytes.Equal(old.value, value) {
			return old
		}
		deleted = true
		return nil
	})
	return deleted, nil
}

// Increment implements sdk.Counter.
func (s *store) Increment(_ context.Context, key string, delta int64, initialTTL time.Duration) (sum int64, err error) {
	s.compute(key, func(old *entry) *entry {
		e := &entry{value: sdk.FormatInteger(0)}
		if old == nil {
			e.deadline = deadlineAfter(initialTTL)
		} else {
			e.value, e.deadline = old.value, old.deadline
		}
		if sum, err = sdk.AddInteger(e.value, delta); err != nil {
			return old
		}
		e.value = sdk.FormatInteger(sum)
		return e
	})
	return sum, err
}

// TTL implements sdk.Inspector.
func (s *store) TTL(_ context.Context, key string) (ttl time.Duration, ok bool, err error) {
	e, ok := s.entries.GetEntryQuietly(key)
	if !ok {
		return 0, false, nil
	}
	return e.Value.remaining(), true, nil
}

// Touch implements sdk.Inspector.
func (s *store) Touch(_ context.Context, key string, ttl time.Duration) (touched bool, err error) {
	s.compute(key, func(old *entry) *entry {
		if old == nil {
			return nil
		}
		touched = true
		return &entry{value: old.value, deadline: deadlineAfter(ttl)}
	})
	return touched, nil
}
