package lock

import (
	"context"
	"errors"

	"github.com/cachewright/cachewright/internal/lazyctx"
	"github.com/cachewright/cachewright/internal/wire"
)

// attempt makes one call of an entry and waits for it under ctx. The call
// itself runs to its end, bounded by CallTimeout: a win that nobody waits for
// any more, or that nobody can tell from a failure, is undone.
func attempt[T any](ctx context.Context, b *Backend, call func(context.Context) (T, error), undo func(context.Context, T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	b.Go(func() {
		ctx := lazyctx.WithTimeout(context.WithoutCancel(ctx), b.CallTimeout)
		defer ctx.End()
		value, err := call(ctx)
		done <- result{value, err}
	})
	undoLater := func(r result) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		if r.err == nil || fateUnknown(r.err) {
			undo(ctx, r.value)
		}
	}
	select {
	case r := <-done:
		if ctx.Err() == nil && !fateUnknown(r.err) {
			return r.value, r.err
		}
		b.Go(func() { undoLater(r) })
		return r.value, gaveUp(ctx, r.err)
	case <-ctx.Done():
		b.Go(func() { undoLater(<-done) })
		var none T
		return none, ctx.Err()
	}
}

// fateUnknown tells an error after which the call may have been applied.
func fateUnknown(err error) bool {
	return errors.Is(err, wire.ErrMaybeApplied) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
