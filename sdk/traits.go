package sdk

import "time"

// Traits are the facts that a store announces when it opens. The zero value is
// a store with millisecond expiry, no locks of its own and a place of its own.
type Traits struct {
	// Granularity is the step of expiry; TTLs are rounded up to it. 0: 1 ms.
	Granularity time.Duration
	// MaxKey is the longest key in bytes, prefix included. 0: 1,024.
	MaxKey int
	// MaxValue is the largest value in bytes, if known without I/O.
	MaxValue int64
	// LockStrategy is what a store without a lock block uses. "": none, so that
	// a lock needs {strategy: local} in the configuration.
	LockStrategy string
	// LockScope is how far the store's lock primitives reach.
	LockScope Scope
	// ShortestLease is the shortest that exclusive may ask for. 0: 1 s.
	ShortestLease time.Duration
	// Class says whether two processes may serve the store at once.
	Class Class
	// ReleaseCompares says whether a redlock release compares the owner.
	ReleaseCompares bool
	// Space names what the store's data and locks live in: the canonical
	// directory, server and database, the table. Stores of equal Space and
	// prefix share local locks. "": the store has a space of its own.
	Space string
	// Dispatch says how the sdk makes calls that a Go host sends at once.
	Dispatch Dispatch
	// Withdrawn lists capabilities that the type has and this store has not.
	Withdrawn []Capability
}

// A Dispatch says how calls that arrive together are made. It stays in the
// driver's process.
type Dispatch int

const (
	// DispatchApart lets every call wait, for a disk or a server, while others go
	// on: it gives it a goroutine, or that of a reader whom another relieves if
	// the call takes long.
	DispatchApart Dispatch = iota
	// DispatchInline makes a call on one key on the goroutine that reads calls:
	// it is for a store whose calls never wait, for nothing, and take
	// microseconds. Their contexts have no deadline of their own.
	DispatchInline
	// DispatchTogether makes one GetMany of the Get calls that arrive together,
	// and one SetMany of the Set calls, and makes all others apart. It is
	// for a Batcher that answers many keys in about the time of one, and answers
	// each key as Get and Set do. Such a batch ends when the last of its callers
	// has to, so that one slow key delays the others.
	DispatchTogether
)

// A Scope is how far something reaches.
type Scope string

const (
	ScopeNone    Scope = ""        // there is nothing to reach
	ScopeProcess Scope = "process" // one opened store in one driver process
	ScopeHost    Scope = "host"    // all processes of one machine
	ScopeCluster Scope = "cluster" // all that use the same backend
)

// A Class says what happens when a second process opens the same store.
type Class string

const (
	ClassOverlap   Class = "overlap"   // both work on the same data
	ClassExclusive Class = "exclusive" // only one may have it open
	ClassVolatile  Class = "volatile"  // data lives and dies with the process
)

// A TraitReporter announces traits. It is asked once, after opening, and must
// not do I/O.
//
// Without it, the store has the zero Traits.
type TraitReporter interface {
	Traits() Traits
}

// WithDefaults returns t with the values that the zero ones stand for.
func (t Traits) WithDefaults() Traits {
	if t.Granularity <= 0 {
		t.Granularity = time.Millisecond
	}
	if t.MaxKey <= 0 {
		t.MaxKey = maxKey
	}
	if t.ShortestLease <= 0 {
		t.ShortestLease = time.Second
	}
	if t.Class == "" {
		t.Class = ClassOverlap
	}
	return t
}
