package database

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// farewell is how long a statement may go on when all who asked for it have
// left: a connection that answers in time is kept.
const farewell = time.Second

// A lane carries operations of one kind. It has a few places: who finds one
// free runs its own statement at once. Those that come while all are taken
// wait, and travel together as one statement when a place becomes free. They
// may leave at any time: theirs is then carried no further, or its answer is
// dropped.
type lane struct {
	store  *store
	effect effect
	places int // statements at once
	// serve answers every cargo, which are in the order of their coming, or
	// fails for all of them.
	serve func(context.Context, *pgx.Conn, []*cargo) error

	mu    sync.Mutex // guards below, and the fields of cargos and trips that say so
	queue []*cargo
	taken int // places
}

// mostTogether is how many operations travel as one statement at most.
const mostTogether = 128

// A cargo is one operation that waits or travels.
type cargo struct {
	key   string
	value []byte // what to store, and what was found
	ttl   time.Duration
	ok    bool
	err   error
	done  chan struct{} // closed when the answer is there

	left bool  // guarded by the lane
	trip *trip // nil until it has begun; guarded by the lane
}

// A trip is one statement, with its repeats. Its fields are guarded by the lane.
type trip struct {
	cargos  []*cargo
	waiting int // callers that have not left
	sent    bool
	lost    bool // an attempt may have been applied
	locked  bool // a row of it is, by somebody who keeps it
	cancel  context.CancelFunc
}

// enter takes a place, for one statement of the caller's own. exit gives it
// back. Nobody is overtaken: while anybody waits, no place is free.
func (l *lane) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken == l.places {
		return false
	}
	l.taken++
	return true
}

// exit gives a place back, or to those who wait.
func (l *lane) exit() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.taken--
		return
	}
	l.store.work.Go(l.run)
}

// carry runs c's operation together with others, and returns when it is done or
// ctx is.
func (l *lane) carry(ctx context.Context, c *cargo) error {
	l.push(c)
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return maybe(l.leave(c) && l.effect != reads, l.store.late(ctx.Err()))
	}
}

// push queues c, and starts a runner if a place is free.
func (l *lane) push(c *cargo) {
	c.done = make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, c)
	if l.taken < l.places {
		l.taken++
		l.store.work.Go(l.run)
	}
}

// leave gives c up, and reports whether it may have been applied.
func (l *lane) leave(c *cargo) (sent bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.left = true
	t := c.trip
	if t == nil {
		return false
	}
	if t.waiting--; t.waiting == 0 {
		time.AfterFunc(farewell, t.cancel)
	}
	return t.sent
}

// run makes trips, on a place that was taken for it, until nobody waits.
func (l *lane) run() {
	for {
		ctx, cancel := context.WithCancel(l.store.life)
		t := l.depart(cancel)
		if t != nil {
			l.travel(ctx, t)
		}
		cancel()
		if t == nil {
			return
		}
	}
}

// depart takes what waits; nil, and the place is given back, if nothing does.
func (l *lane) depart(cancel context.CancelFunc) *trip {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &trip{cancel: cancel}
	n := 0
	for _, c := range l.queue {
		if t.waiting == mostTogether {
			break
		}
		n++
		if !c.left {
			c.trip = t
			t.cargos = append(t.cargos, c)
			t.waiting++
		}
	}
	l.queue = l.queue[n:]
	if len(l.queue) == 0 {
		l.queue = nil
	}
	if t.waiting == 0 {
		l.taken--
		return nil
	}
	return t
}

func (l *lane) travel(ctx context.Context, t *trip) {
	err := l.store.attempts(ctx, l.effect, func(conn *pgx.Conn) error {
		cargos := l.send(t)
		if len(cargos) == 0 {
			return nil
		}
		err := l.serve(ctx, conn, cargos)
		l.judge(t, err)
		return err
	})
	if l.scatter(t) {
		return
	}
	for _, c := range t.cargos {
		if c.err == nil {
			c.err = err
		}
		close(c.done)
	}
}

// send drops what nobody waits for any more. What it returns is on its way.
func (l *lane) send(t *trip) []*cargo {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.sent = true
	cargos := make([]*cargo, 0, len(t.cargos))
	for _, c := range t.cargos {
		if !c.left {
			cargos = append(cargos, c)
		}
	}
	return cargos
}

// judge notes what may have become of the trip so far.
func (l *lane) judge(t *trip, err error) {
	f := fateOf(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	t.lost = t.lost || f == unknown
	t.sent = t.lost || f == done
	t.locked = isLocked(err)
}

// scatter sends the operations of a trip that met a locked row on trips of
// their own, one for each key, so that only those wait who want that row.
func (l *lane) scatter(t *trip) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	parts := make(map[string]*trip)
	for _, c := range t.cargos {
		if parts[c.key] == nil {
			parts[c.key] = &trip{sent: t.lost, lost: t.lost}
		}
	}
	if !t.locked || len(parts) == 1 {
		return false
	}
	for _, c := range t.cargos {
		part := parts[c.key]
		part.cargos = append(part.cargos, c)
		if c.trip = part; !c.left {
			part.waiting++
		}
	}
	for _, part := range parts {
		ctx, cancel := context.WithCancel(l.store.life)
		part.cancel = cancel
		l.store.work.Go(func() {
			defer cancel()
			l.travel(ctx, part)
		})
	}
	return true
}
