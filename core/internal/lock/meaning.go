package lock

import (
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A Meaning is what a strategy makes of a lock's times.
type Meaning struct {
	// Leases says whether a lock ends by itself.
	Leases bool
	// Renewed says whether the lease is prolonged while the block runs.
	Renewed bool
	// TimeoutIsLease says that a timeout is the lease beside the wait's limit.
	TimeoutIsLease bool
	// Absorbs says that a wait that runs out lets the block run, without the
	// lock and without an error.
	Absorbs bool
	// ZeroIsDefault says that a timeout of 0 waits as long as none does,
	// instead of making one attempt.
	ZeroIsDefault bool
}

var meanings = map[string]Meaning{
	sdk.StrategyLocal:     {},
	sdk.StrategyLease:     {Leases: true, TimeoutIsLease: true},
	sdk.StrategyRedlock:   {Leases: true, TimeoutIsLease: true, Absorbs: true, ZeroIsDefault: true},
	sdk.StrategyExclusive: {Leases: true, Renewed: true},
}

// MeaningOf describes a strategy that Of knows.
func MeaningOf(strategy string) Meaning { return meanings[strategy] }

// Timeout says what a timeout does.
func (m Meaning) Timeout() string {
	switch {
	case m.Absorbs:
		return "is lease and wait, after which the block runs without the lock; 0 is none"
	case m.TimeoutIsLease:
		return "limits the wait and is the lease; 0 is one attempt"
	}
	return "limits the wait; 0 is one attempt"
}

// DefaultLease is how long a lock with these times lasts unless it is left or
// renewed, 0 if it does not end by itself.
func (b *Backend) DefaultLease(strategy string, t Timing) time.Duration {
	switch m := MeaningOf(strategy); {
	case !m.Leases:
		return 0
	case m.TimeoutIsLease:
		return t.documentLease()
	}
	return exclusive{b}.lease(t)
}

// OwnerChecked reports whether a release leaves another owner's lock alone.
func (b *Backend) OwnerChecked(strategy string) bool {
	return strategy != sdk.StrategyRedlock || b.Store.Traits().ReleaseCompares
}
