package core

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cachewright/cachewright/internal/wire"
)

// Errors of this package, matched with errors.Is. An operation that a store
// lacks fails with an error that matches errors.ErrUnsupported; context errors
// keep their meaning.
var (
	// ErrInvalidKey: the key breaks the rules, or the store takes none that long.
	ErrInvalidKey = wire.ErrInvalidKey
	// ErrInvalidTTL: zero, negative, or no duration at all.
	ErrInvalidTTL = wire.ErrInvalidTTL
	// ErrInvalidConfig: the configuration; the error lists every problem.
	ErrInvalidConfig = wire.ErrInvalidConfig
	// ErrInvalidOptions: a driver refused a store's options.
	ErrInvalidOptions = wire.ErrInvalidOptions
	// ErrUnknownStore: no store of that name; the error lists those there are.
	ErrUnknownStore = wire.ErrUnknownStore

	// ErrMiss: Decode of a value that was not found.
	ErrMiss = wire.ErrMiss
	// ErrNull: a null where the type or the codec has none.
	ErrNull = wire.ErrNull
	// ErrWrongType: the value does not decode into that Go type.
	ErrWrongType = wire.ErrWrongType
	// ErrCorrupt: the entry can't be read at all. Set, Delete and Clear still
	// work on it, and Remember computes it anew.
	ErrCorrupt = wire.ErrCorrupt
	// ErrTooLarge: a value above what the store or a message takes.
	ErrTooLarge = wire.ErrTooLarge
	// ErrNotInteger: Increment of something else; it stays as it was.
	ErrNotInteger = wire.ErrNotInteger
	// ErrOverflow: Increment beyond int64; the counter stays as it was.
	ErrOverflow = wire.ErrOverflow

	// ErrUnavailable: the backend or the driver can't be reached.
	ErrUnavailable = wire.ErrUnavailable
	// ErrDriverUnavailable: the driver's process is down; it matches
	// ErrUnavailable too.
	ErrDriverUnavailable = wire.ErrDriverUnavailable
	// ErrMaybeApplied: a write whose fate is unknown. It was not repeated.
	ErrMaybeApplied = wire.ErrMaybeApplied
	// ErrOverloaded: too much is under way; nothing was applied.
	ErrOverloaded = wire.ErrOverloaded
	// ErrClosed: the manager was closed.
	ErrClosed = wire.ErrClosed
	// ErrInternal: the driver broke.
	ErrInternal = wire.ErrInternal

	// ErrLockTimeout: the wait for a lock ran out. It matches
	// os.ErrDeadlineExceeded and never context.DeadlineExceeded.
	ErrLockTimeout = wire.ErrLockTimeout
	// ErrLockLost: the lock could not be kept while the block ran.
	ErrLockLost = wire.ErrLockLost
	// ErrLockReentrant: the block that holds the lock asked for it again.
	ErrLockReentrant = wire.ErrLockReentrant
	// ErrInvalidLockOption: an option that the lock's strategy does not take.
	ErrInvalidLockOption = wire.ErrInvalidLockOption
)

// An Error says what was being done, where, and why it failed. It never holds
// a value or a secret.
type Error struct {
	Op     string // the operation: "get", "lock"
	Store  string
	Driver string
	Key    string // as the caller gave it; "" for operations without one key
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("cache: " + e.Op)
	if e.Key != "" {
		fmt.Fprintf(&b, " %q", clipped(e.Key))
	}
	if e.Store != "" {
		fmt.Fprintf(&b, " in store %s (driver %s)", e.Store, e.Driver)
	}
	return b.String() + ": " + e.Err.Error()
}

// maxShownKey is how many bytes of a key a text has room for.
const maxShownKey = 100

// clipped is a key as errors show it; Error.Key has all of it.
func clipped(key string) string {
	if len(key) <= maxShownKey {
		return key
	}
	return strings.ToValidUTF8(key[:maxShownKey], "") + "…"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a timeout, as net.Error does.
func (e *Error) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

// A BatchError names the keys of a batch that failed or whose fate is unknown.
type BatchError struct {
	Failed map[string]error // by key, as the caller gave it
}

func (e *BatchError) Error() string {
	key, err := e.first()
	if len(e.Failed) == 1 {
		return fmt.Sprintf("%q: %v", clipped(key), err)
	}
	return fmt.Sprintf("%d keys failed, among them %q: %v", len(e.Failed), clipped(key), err)
}

// Unwrap returns the failures of all keys.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, 0, len(e.Failed))
	for _, err := range e.Failed {
		errs = append(errs, err)
	}
	return errs
}

// first picks the smallest key, so that the text does not change by chance.
func (e *BatchError) first() (key string, err error) {
	for k, failure := range e.Failed {
		if err == nil || k < key {
			key, err = k, failure
		}
	}
	return key, err
}
