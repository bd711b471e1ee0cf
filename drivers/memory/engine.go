package memory

import (
	"fmt"
	"math"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/maypok86/otter/v2"
)

// An entry is immutable once it is stored, but for its place in the index,
// which is set under the engine's lock of its key. Reads hand out its value.
type entry struct {
	value    []byte
	deadline int64 // µs since 1970; 0: none
	place    uint32
}

// newEntry copies the value. The deadline counts from here and is rounded up.
func (s *store) newEntry(value []byte, ttl time.Duration) (*entry, error) {
	if most := s.maxValue(); most > 0 && int64(len(value)) > most {
		return nil, fmt.Errorf("%w: %d bytes; max_bytes of %s leaves room for %d", sdk.ErrTooLarge, len(value), sdk.Bytes(s.maxBytes), most)
	}
	return &entry{value: append([]byte{}, value...), deadline: deadlineAfter(ttl)}, nil
}

func deadlineAfter(ttl time.Duration) int64 {
	if ttl == sdk.NoExpiry {
		return 0
	}
	// in two parts, since the longest duration and the time don't fit one number
	const µs = int64(time.Microsecond)
	now := time.Now().UnixNano()
	return now/µs + int64(ttl)/µs + (now%µs+int64(ttl)%µs+µs-1)/µs
}

// remaining is how long e will live from now on, at least a millisecond:
// whoever asks has found it alive.
func (e *entry) remaining() time.Duration {
	if e.deadline == 0 {
		return sdk.NoExpiry
	}
	left := e.deadline - (time.Now().UnixNano()+999)/1000 // down, as the deadline was up
	if left >= math.MaxInt64/int64(time.Microsecond) {
		return math.MaxInt64
	}
	return max(time.Duration(left)*time.Microsecond, time.Millisecond)
}

// newEngine makes the bounded map. It runs its upkeep in the callers'
// goroutines, so that a write returns to a store within its bound; a goroutine
// that removes expired entries every second ends with Close.
func newEngine(s *store) (*otter.Cache[string, *entry], error) {
	o := otter.Options[string, *entry]{
		ExpiryCalculator: otter.ExpiryWritingFunc(expiresAfter),
		OnAtomicDeletion: s.left,
		Clock:            wallClock{},
		Executor:         func(task func()) { task() },
	}
	if s.maxBytes > 0 {
		o.MaximumWeight, o.Weigher = uint64(s.maxBytes), weigh
	} else {
		o.MaximumSize = int(s.maxEntries)
	}
	return otter.New(&o)
}

func weigh(key string, e *entry) uint32 {
	return uint32(min(len(key)+len(e.value)+entryOverhead, math.MaxUint32))
}

// expiresAfter makes the engine's deadline the entry's own. The engine takes
// what isn't positive for no change.
func expiresAfter(e otter.Entry[string, *entry]) time.Duration {
	const µs = int64(time.Microsecond)
	if e.Value.deadline == 0 || e.Value.deadline > math.MaxInt64/µs {
		return math.MaxInt64
	}
	return time.Duration(max(e.Value.deadline*µs-e.SnapshotAtNano, 1))
}

// left keeps the index and the counts in step with the engine, under its lock
// of the key.
func (s *store) left(event otter.DeletionEvent[string, *entry]) {
	switch event.Cause {
	case otter.CauseReplacement:
		return
	case otter.CauseOverflow:
		s.evicted.Add(1)
	case otter.CauseExpiration:
		s.expired.Add(1)
	}
	s.index.remove(event.Key, event.Value.place)
}

// A wallClock judges expiry by the time of day: it goes on while the machine
// sleeps.
type wallClock struct{}

func (wallClock) NowNano() int64                        { return time.Now().UnixNano() }
func (wallClock) Tick(d time.Duration) <-chan time.Time { return time.Tick(d) }
