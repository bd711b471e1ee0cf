package sdk

import (
	"fmt"

	"github.com/cachewright/cachewright/internal/wire"
)

// Errors that a store wraps, so that the host's callers can match them with
// errors.Is. Context errors and errors.ErrUnsupported keep their meaning too;
// anything else reaches the caller as its text. No text may hold a secret or a
// value.
var (
	// ErrUnavailable: the backend can't be reached, and nothing was applied.
	ErrUnavailable = wire.ErrUnavailable
	// ErrMaybeApplied: a write was cut short and nobody knows its fate.
	ErrMaybeApplied = wire.ErrMaybeApplied
	// ErrTooLarge: the backend takes no value of this size.
	ErrTooLarge = wire.ErrTooLarge
	// ErrInvalidKey: the backend takes no such key.
	ErrInvalidKey = wire.ErrInvalidKey
	// ErrNotInteger: the entry can't be counted.
	ErrNotInteger = wire.ErrNotInteger
	// ErrOverflow: the sum does not fit int64.
	ErrOverflow = wire.ErrOverflow
	// ErrCorrupt: an entry that has a header of the driver's can't be read.
	ErrCorrupt = wire.ErrCorrupt
	// ErrOverloaded: too much is under way; nothing was applied.
	ErrOverloaded = wire.ErrOverloaded
	// ErrInvalidOptions: the store can't be opened like this.
	ErrInvalidOptions = wire.ErrInvalidOptions
	// ErrClosed: the store was closed.
	ErrClosed = wire.ErrClosed
	// ErrInternal: the driver broke; the sdk turns a panic into it.
	ErrInternal = wire.ErrInternal
)

// A BatchError names the keys of a batch that were not a success.
type BatchError struct {
	Failed []KeyError
}

// A KeyError is the failure of one key.
type KeyError struct {
	Key string
	Err error
}

func (e KeyError) Error() string { return fmt.Sprintf("%q: %v", e.Key, e.Err) }

// Unwrap returns the cause.
func (e KeyError) Unwrap() error { return e.Err }

func (e *BatchError) Error() string {
	if len(e.Failed) == 1 {
		return e.Failed[0].Error()
	}
	return fmt.Sprintf("%d keys failed, the first: %v", len(e.Failed), e.Failed[0])
}

// Unwrap returns every key's failure.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f
	}
	return errs
}
