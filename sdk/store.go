package sdk

import (
	"context"
	"time"
)

// NoExpiry is the TTL of an entry that stays until it is deleted or evicted.
const NoExpiry time.Duration = 0

// A Store holds byte values under string keys. These four methods make a
// driver; everything else is an optional interface.
//
// Methods are called concurrently. Keys are valid UTF-8 of 1 to 1,024 bytes
// without NUL, to which a lock strategy may append up to 64 more; two different
// keys are two entries, whatever their case or form.
// A TTL is never negative, NoExpiry (0) means none, and any other is a multiple
// of the granularity that the store announces. A store must honour ctx: once it
// is done, return soon, with its error. A write that is cut short so that
// nobody knows whether it happened fails with an error that matches both the
// context's and ErrMaybeApplied.
type Store interface {
	// Get returns the live value of key. ok is false, with a nil error, for a
	// key that is absent or expired. Nobody changes a slice that Get returned;
	// the store may keep it. Reading an expired entry must not remove a value
	// that another writer has just stored.
	Get(ctx context.Context, key string) (value []byte, ok bool, err error)

	// Set stores value for ttl, replacing any earlier value and expiry. The
	// slice is the caller's again when Set returns.
	Set(ctx context.Context, key string, value []byte, ttl time.Duration) error

	// Delete removes key and reports whether a live entry was there.
	Delete(ctx context.Context, key string) (existed bool, err error)

	// Close releases what the store holds. It is called once, after the last
	// call has returned.
	Close() error
}

// An Adder stores only where nothing is. It must be atomic in the backend: of
// any number of callers at once, in any process, one wins.
//
// Without it, Add fails with errors.ErrUnsupported, and so does the redlock
// strategy.
type Adder interface {
	Add(ctx context.Context, key string, value []byte, ttl time.Duration) (added bool, err error)
}

// A Replacer overwrites a live entry and nothing else, atomically.
//
// Without it, Replace fails with errors.ErrUnsupported.
type Replacer interface {
	Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error)
}

// A Puller reads an entry and removes it atomically: of any number of callers
// at once, one receives the value.
//
// Without it, Pull fails with errors.ErrUnsupported.
type Puller interface {
	Pull(ctx context.Context, key string) (value []byte, ok bool, err error)
}

// A Counter adds to integers atomically across all processes.
//
// Without it, Increment and Decrement fail with errors.ErrUnsupported.
type Counter interface {
	// Increment adds delta, which may be negative, to the integer under key and
	// returns the sum. An absent or expired counter starts from 0 and expires
	// after initialTTL; a live one keeps its expiry. Integers are stored as
	// FormatInteger writes them. A value that ParseInteger refuses is
	// ErrNotInteger, a sum outside int64 is ErrOverflow, and both leave the
	// entry as it was.
	Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error)
}

// A CompareDeleter removes an entry only while it holds exactly value,
// atomically.
//
// Without it, a redlock release deletes whoever's key is there.
type CompareDeleter interface {
	CompareDelete(ctx context.Context, key string, value []byte) (deleted bool, err error)
}

// A Lookup is what a store knows of one key of a batch.
type Lookup struct {
	Value []byte
	OK    bool  // a live entry was there
	Err   error // why this key could not be read; the others may still be good
}

// An Entry is one write of a batch.
type Entry struct {
	Key   string
	Value []byte
	TTL   time.Duration
}

// A Batcher handles many keys in few backend round trips. Batches are not
// atomic. Keys come without duplicates.
//
// Without it, the sdk loops inside the driver process: the host still makes one
// hop.
type Batcher interface {
	// GetMany answers keys[i] in result i. It may stop early and answer fewer
	// keys than were asked, at least one, if the values grow large; it is asked
	// again for the rest.
	GetMany(ctx context.Context, keys []string) ([]Lookup, error)
	// SetMany stores the entries. A *BatchError names those whose fate is not a
	// success; any other error speaks of all of them.
	SetMany(ctx context.Context, entries []Entry) error
	// DeleteMany removes the keys and counts those that were live. Errors are
	// as SetMany's.
	DeleteMany(ctx context.Context, keys []string) (existed int, err error)
}

// A Clearer removes all entries whose key starts with a prefix; an empty prefix
// means everything that the store owns. Leases stay.
//
// Without it, Clear fails with errors.ErrUnsupported.
type Clearer interface {
	// Clear removes entries, a page at a time. cursor is empty at first and then
	// what the page before returned as next; an empty next ends it. A page is
	// short work, a second at most, so that a call's deadline bounds a page and
	// not the whole.
	Clear(ctx context.Context, prefix string, cursor []byte) (next []byte, removed int, err error)
}

// An Inspector knows and changes the expiry of entries.
//
// Without it, TTL and Touch fail with errors.ErrUnsupported.
type Inspector interface {
	// TTL returns how long the entry will live, NoExpiry if for ever. ok is
	// false for an absent key.
	TTL(ctx context.Context, key string) (ttl time.Duration, ok bool, err error)
	// Touch gives a live entry a new expiry, atomically, and keeps its value.
	Touch(ctx context.Context, key string, ttl time.Duration) (touched bool, err error)
}

// A Lister can enumerate keys.
//
// Without it, Keys fails with errors.ErrUnsupported.
type Lister interface {
	// Keys returns up to about limit live keys that start with prefix, in any
	// order, a page at a time as Clearer does. Keys present from the first page
	// to the last are listed at least once; others may be.
	Keys(ctx context.Context, prefix string, cursor []byte, limit int) (keys []string, next []byte, err error)
}

// A Pinger checks that the backend can be reached.
//
// Without it, a ping says only that the driver's process answers.
type Pinger interface {
	Ping(ctx context.Context) error
}

// A Stat is one line of a store's report to its operator.
type Stat struct {
	Name    string // dotted, lower case: "server.version"
	Value   string // as a person reads it; never a secret
	Warning string // empty, or what the operator should do about it
}

// A StatsReporter describes the state of store and backend.
//
// Without it, doctor and stores show traits and reachability only.
type StatsReporter interface {
	Stats(ctx context.Context) ([]Stat, error)
}
