package core

import (
	"context"
	"time"
)

// CacheOperations are what manager and repositories have in common; a manager
// forwards them to its default store.
//
// Keys are valid UTF-8 without NUL, 1 to 1,024 bytes with the store's prefix;
// anything else is ErrInvalidKey before any I/O. A TTL is positive, Forever
// or DefaultTTL.
// A context without a deadline gets the store's timeout for each call. A write
// that is cut short while under way fails with an error that matches the
// context's and ErrMaybeApplied.
type CacheOperations interface {
	// Get reads key. A miss is a Value that was not found, without an error.
	Get(ctx context.Context, key string) (Value, error)
	// Set stores value for ttl, whatever was there.
	Set(ctx context.Context, key string, value any, ttl time.Duration) error
	// Has reports whether key has a live entry, null or not.
	Has(ctx context.Context, key string) (bool, error)
	// Delete removes key and reports whether a live entry was there.
	Delete(ctx context.Context, key string) (bool, error)
	// Clear removes what belongs to the store's prefix and nothing else. Locks
	// under the strategies local, lease and exclusive survive it.
	Clear(ctx context.Context) error
	// GetMany answers for exactly the keys asked. If some can't be read, the
	// error is a *BatchError that names them, and the others are answered.
	GetMany(ctx context.Context, keys []string) (map[string]Value, error)
	// SetMany stores all values for ttl. It is not atomic: a *BatchError names
	// the keys that were not stored or whose fate is unknown.
	SetMany(ctx context.Context, values map[string]any, ttl time.Duration) error
	// Remember reads key and, on a miss, runs resolve in the caller's goroutine
	// under the caller's context, and stores what it returns. It never locks:
	// two misses at once run two resolvers. A stored null is a hit. If resolve
	// fails, nothing is stored; if storing fails, the value comes with the error.
	// On a store with on_error: miss an outage is a miss here, and storing may fail
	// in it without an error.
	// Options change all that, each as far as it says.
	Remember(ctx context.Context, key string, ttl time.Duration, resolve func(context.Context) (any, error), opts ...RememberOption) (Value, error)
	// RememberForever is Remember with Forever.
	RememberForever(ctx context.Context, key string, resolve func(context.Context) (any, error), opts ...RememberOption) (Value, error)
	// Pull reads key and removes it, atomically: of several callers one gets it.
	Pull(ctx context.Context, key string) (Value, error)
	// Add stores value only where nothing is, atomically, and reports whether it did.
	Add(ctx context.Context, key string, value any, ttl time.Duration) (bool, error)
	// Increment adds delta to an integer, atomically across processes, and
	// returns the sum. An absent counter starts from 0, without expiry unless
	// InitialTTL says otherwise; a live one keeps its expiry. Errors are
	// ErrNotInteger and ErrOverflow, and leave the entry as it was.
	Increment(ctx context.Context, key string, delta int64, opts ...CounterOption) (int64, error)
	// Decrement is Increment by -delta.
	Decrement(ctx context.Context, key string, delta int64, opts ...CounterOption) (int64, error)
}

// ICacheManager hands out the repositories that the configuration names, and
// is one for the default store. *CacheManager implements it, and Locker beside.
type ICacheManager interface {
	// Store returns the repository of a store, always the same for one name,
	// without I/O. "" is the default store. A name that isn't configured is
	// ErrUnknownStore.
	Store(name string) (ICacheRepository, error)
	CacheOperations
}

// ICacheRepository is one named store. *CacheRepository implements it, and
// Locker beside.
type ICacheRepository interface {
	// Name is the store's name in the configuration.
	Name() string
	CacheOperations
	// Replace overwrites a live entry, atomically, and reports whether there
	// was one.
	Replace(ctx context.Context, key string, value any, ttl time.Duration) (bool, error)
}

// Locker makes locks. Only *CacheManager and *CacheRepository implement it.
type Locker interface {
	// Lock builds a lock and acquires nothing; Do does.
	Lock(key string, opts ...LockOption) *CacheLock
}

var (
	_ ICacheManager    = (*CacheManager)(nil)
	_ Locker           = (*CacheManager)(nil)
	_ ICacheRepository = (*CacheRepository)(nil)
	_ Locker           = (*CacheRepository)(nil)
)

// A CounterOption changes one Increment or Decrement.
type CounterOption func(*counterOptions)

type counterOptions struct {
	initialTTL time.Duration
}

// InitialTTL is the TTL of a counter that the call creates. A counter that is
// there keeps its own.
func InitialTTL(ttl time.Duration) CounterOption {
	return func(o *counterOptions) { o.initialTTL = ttl }
}
