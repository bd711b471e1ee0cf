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

// A lane carries operations of one kind. Those that come while others are
// under way wait for a place, and all that wait travel together as one
// statement. Callers may leave at any time: theirs is then carried no further,
// or its answer is dropped.
type lane struct {
	store  *store
	effect effect
	width  int // statements at once
	most   int // operations in one
	// serve answers every cargo, which are in the order of their coming, or
	// fails for all of them.
	serve func(context.Context, *pgx.Conn, []*cargo) error

	mu      sync.Mutex // guards below, and the fields of cargos and trips that say so
	queue   []*cargo
	running int
}

// A cargo is one operation in a lane.
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
	cancel  context.CancelFunc
}

// carry runs c's operation with others, and returns when it is done or ctx is.
func (l *lane) carry(ctx context.Context, c *cargo) error {
	if err := l.store.ready(ctx); err != nil {
		return err
	}
	c.done = make(chan struct{})
	l.push(c)
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return maybe(l.leave(c) && l.effect != reads, ctx.Err())
	}
}

// push queues c, and starts a runner if there is room for one.
func (l *lane) push(c *cargo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, c)
	if l.running < l.width {
		l.running++
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

// run makes trips until the queue is empty.
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

// depart takes what waits; nil, and the end of the runner, if nothing does.
func (l *lane) depart(cancel context.CancelFunc) *trip {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &trip{cancel: cancel}
	taken := 0
	for _, c := range l.queue {
		if t.waiting == l.most {
			break
		}
		taken++
		if !c.left {
			c.trip = t
			t.cargos = append(t.cargos, c)
			t.waiting++
		}
	}
	l.queue = l.queue[taken:]
	if len(l.queue) == 0 {
		l.queue = nil
	}
	if t.waiting == 0 {
		l.running--
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
		l.judge(t, fateOf(err))
		return err
	})
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

// judge notes whether anything of the trip may have been applied so far.
func (l *lane) judge(t *trip, f fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.lost = t.lost || f == unknown
	t.sent = t.lost || f == done
}
