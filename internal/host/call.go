package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/cachewright/cachewright/internal/wire"
)

// maxSends is how often a call is sent, in total, if its driver dies under it.
const maxSends = 3

// A repeat says what becomes of a call whose driver died under it.
type repeat bool

const (
	again repeat = true  // sending it twice does no harm
	once  repeat = false // sending it twice might count twice
)

// call makes one call on the store, in whatever process serves it.
func call[T any](ctx context.Context, r *RemoteStore, rep repeat, do func(context.Context, Store) (T, error)) (T, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	var none T
	var before error // why it is being sent again
	for sends := 1; ; sends++ {
		b, err := r.acquire(ctx)
		if err != nil {
			return none, stranded(before, err)
		}
		value, err := do(ctx, b.store)
		if err == nil || !r.repeatable(b, err) {
			return value, err
		}
		before = worse(before, err)
		if rep == once && errors.Is(before, wire.ErrMaybeApplied) {
			return none, before
		}
		if sends == maxSends {
			return none, stranded(before, r.driver.unavailable(fmt.Errorf("its process died under the call %d times: %w", maxSends, err)))
		}
	}
}

// repeatable reports whether err says that the process was lost, or has lost
// the store, and makes that known.
func (r *RemoteStore) repeatable(b *binding, err error) bool {
	if lost(err) != nil {
		r.driver.doubt(b.session, err)
		return true
	}
	if errors.Is(err, wire.ErrNotOpen) {
		r.bound.CompareAndSwap(b, &binding{session: b.session, err: err})
		return true
	}
	return false
}

// worse keeps the failure that leaves more in the dark.
func worse(before, err error) error {
	if before != nil && errors.Is(before, wire.ErrMaybeApplied) {
		return before
	}
	return err
}

// stranded is the error of a call that can't be sent again. If it may have been
// applied before, that counts.
func stranded(before, err error) error {
	if before != nil && errors.Is(before, wire.ErrMaybeApplied) && !errors.Is(err, wire.ErrMaybeApplied) {
		return fmt.Errorf("%w: it could not be sent again: %w", wire.ErrMaybeApplied, err)
	}
	return err
}
