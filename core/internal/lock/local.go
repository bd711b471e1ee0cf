package lock

import (
	"context"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// local excludes inside this process: no lease, no I/O, first come first
// served. The process's registry is where two managers on one directory meet.
type local struct{ *Backend }

var locals = newRegistry()

func (local) Check(t Timing) error { return t.refuseExclusive(sdk.StrategyLocal) }

func (s local) Enter(ctx context.Context, r Request) (Held, error) {
	id := place{s.Space, r.Key}
	ended, stop := limit(r.Timing.Timeout)
	defer stop()
	if err := locals.enter(ctx, id, ended, s.Closing); err != nil {
		return Held{}, err
	}
	return Held{Release: func(context.Context) error { locals.pass(id); return nil }}, nil
}

// Locals counts the local locks that are held in this process.
func Locals() int { return locals.len() }

// enter joins the queue and waits for its turn.
func (r *registry) enter(ctx context.Context, id place, ended waitLimit, closing context.Context) error {
	turn := r.join(id)
	if turn == nil {
		return nil
	}
	err := turn.wait(ctx, ended, closing)
	if err != nil {
		r.quit(id, turn)
	}
	return err
}

// wait returns nil when it is the waiter's turn. The turn and a reason to give
// up may come together: a done context wins over the turn.
func (w *waiter) wait(ctx context.Context, ended waitLimit, closing context.Context) error {
	select {
	case <-w.granted:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-closing.Done():
		return gaveUp(ctx, wire.ErrClosed)
	case <-ended:
		return gaveUp(ctx, wire.ErrLockTimeout)
	}
}
