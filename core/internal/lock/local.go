package lock

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// local excludes inside this process: no lease, no I/O, first come first
// served.
type local struct{}

func (local) Check(t Timing) error { return t.refuseExclusive(sdk.StrategyLocal) }

func (local) Enter(ctx context.Context, r Request) (Held, error) {
	id := localID{r.Space, r.Key}
	turn := locals.join(id)
	if turn == nil {
		return localHeld(id), nil
	}
	if err := wait(ctx, r, turn); err != nil {
		locals.quit(id, turn)
		return nil, err
	}
	return localHeld(id), nil
}

// wait returns nil when it is the waiter's turn. The turn and a reason to give
// up may come together: a done context wins over the turn.
func wait(ctx context.Context, r Request, turn *waiter) error {
	timeout, stop := r.Timing.timer()
	defer stop()
	select {
	case <-turn.granted:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-r.Closing.Done():
		return wire.ErrClosed
	case <-timeout:
		if err := ctx.Err(); err != nil {
			return err
		}
		return wire.ErrLockTimeout
	}
}

// timer fires when the wait has run out; without a timeout it never does.
func (t Timing) timer() (<-chan time.Time, func()) {
	if t.Timeout == nil {
		return nil, func() {}
	}
	timer := time.NewTimer(*t.Timeout)
	return timer.C, func() { timer.Stop() }
}

type localHeld localID

func (h localHeld) Release(context.Context) error {
	locals.pass(localID(h))
	return nil
}

// locals is the process's registry: two managers on one directory meet here.
var locals = registry{queues: make(map[localID]*list.List)}

type localID struct {
	space any
	key   string
}

// A registry has a queue for every lock that is held, and none for others. The
// queue holds the waiters, in order.
type registry struct {
	mu     sync.Mutex
	queues map[localID]*list.List
}

type waiter struct {
	granted chan struct{} // closed when it is this waiter's turn
	place   *list.Element // nil once granted; guarded by the registry's mutex
}

// join takes a free lock, and returns nil; or else queues.
func (r *registry) join(id localID) *waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue, held := r.queues[id]
	if !held {
		r.queues[id] = list.New()
		return nil
	}
	w := &waiter{granted: make(chan struct{})}
	w.place = queue.PushBack(w)
	return w
}

// quit leaves the queue; a waiter whose turn has come passes it on.
func (r *registry) quit(id localID, w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.place != nil {
		r.queues[id].Remove(w.place)
		return
	}
	r.next(id)
}

// pass gives the lock to the next waiter, or frees it.
func (r *registry) pass(id localID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next(id)
}

func (r *registry) next(id localID) {
	queue := r.queues[id]
	first := queue.Front()
	if first == nil {
		delete(r.queues, id)
		return
	}
	w := queue.Remove(first).(*waiter)
	w.place = nil
	close(w.granted)
}

// Locals counts the local locks that are held in this process.
func Locals() int {
	locals.mu.Lock()
	defer locals.mu.Unlock()
	return len(locals.queues)
}
