// Package memory is the driver of stores that live in the driver's process.
//
// Entries are bounded, in bytes or in number. A store that is full drops what
// it expects to be used least, which may be an entry that has just been
// stored: nothing but a value larger than the whole bound is refused. Leases
// are not entries; none is ever dropped before it ends. Everything is gone
// when the process ends, and every opened store is a place of its own.
package memory

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/cachewright/cachewright/sdk"
	"github.com/maypok86/otter/v2"
)

const version = "0.1.0"

// Driver is the memory driver.
var Driver = sdk.Define("memory", version, open)

const (
	defaultBytes sdk.Bytes = 64 << 20
	// leastBytes holds a small value under the longest key.
	leastBytes sdk.Bytes = 4 << 10
	longestKey           = 1024
	// entryOverhead is what an entry takes beside its key and its value.
	entryOverhead = 200
)

type options struct {
	MaxBytes   *sdk.Bytes `option:"max_bytes" doc:"how much keys, values and their bookkeeping may take, at least 4KiB; 64MiB where neither bound is given"`
	MaxEntries *int64     `option:"max_entries" doc:"how many entries there may be, instead of max_bytes"`
}

// A store is one opened store.
type store struct {
	maxBytes   int64 // 0: bounded by maxEntries
	maxEntries int64

	entries *otter.Cache[string, *entry]
	index   *index
	leases  leases

	hits, misses, evicted, expired atomic.Int64
}

func open(_ context.Context, o options) (*store, error) {
	s, err := bound(o)
	if err != nil {
		return nil, err
	}
	s.index = newIndex()
	s.entries, err = newEngine(s)
	return s, err
}

// bound reads the options.
func bound(o options) (*store, error) {
	refuse := func(key, reason string) (*store, error) {
		return nil, &sdk.OptionsError{Problems: []sdk.Problem{{Key: key, Reason: reason}}}
	}
	switch {
	case o.MaxBytes != nil && o.MaxEntries != nil:
		return refuse("", "max_bytes and max_entries exclude each other; give one of them")
	case o.MaxEntries != nil && *o.MaxEntries < 1:
		return refuse("max_entries", "must be at least 1")
	case o.MaxEntries != nil && *o.MaxEntries > math.MaxInt32:
		return refuse("max_entries", fmt.Sprintf("must be at most %d", math.MaxInt32))
	case o.MaxEntries != nil:
		return &store{maxEntries: *o.MaxEntries}, nil
	case o.MaxBytes != nil && *o.MaxBytes < leastBytes:
		return refuse("max_bytes", fmt.Sprintf("must be at least %s", leastBytes))
	case o.MaxBytes != nil:
		return &store{maxBytes: int64(*o.MaxBytes)}, nil
	}
	return &store{maxBytes: int64(defaultBytes)}, nil
}

// Traits are the store's.
func (s *store) Traits() sdk.Traits {
	return sdk.Traits{
		Dispatch:        sdk.DispatchInline,
		MaxValue:        s.maxValue(),
		LockStrategy:    sdk.StrategyRedlock,
		LockScope:       sdk.ScopeProcess,
		Class:           sdk.ClassVolatile,
		ReleaseCompares: true,
	}
}

// maxValue is the largest value that fits whatever its key is, 0 where the
// entries are counted.
func (s *store) maxValue() int64 {
	if s.maxBytes == 0 {
		return 0
	}
	return min(s.maxBytes, math.MaxUint32) - longestKey - entryOverhead
}

// Close frees what the store holds.
func (s *store) Close() error {
	s.entries.StopAllGoroutines()
	s.entries, s.index = nil, nil
	return nil
}
