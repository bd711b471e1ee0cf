package database

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// prepareTimeout ends a preparation that hangs, however long its callers are
// willing to wait.
const prepareTimeout = 30 * time.Second

// A gate lets calls through once the store is prepared. Concurrent first calls
// share one attempt, each waiting on its own context; a failure is not kept.
type gate struct {
	open func(context.Context) error

	passed  atomic.Bool
	mu      sync.Mutex // guards below
	attempt *attempt   // nil while none is under way
}

type attempt struct {
	done chan struct{}
	err  error // after done
}

// ready returns when the store is prepared.
func (s *store) ready(ctx context.Context) error {
	if s.gate.passed.Load() {
		return nil
	}
	a := s.gate.join(s)
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return s.late(ctx.Err())
	}
}

// join returns the attempt under way, or begins one. It belongs to no caller:
// those who give up leave the others their chance.
func (g *gate) join(s *store) *attempt {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.attempt != nil {
		return g.attempt
	}
	a := &attempt{done: make(chan struct{})}
	g.attempt = a
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, prepareTimeout)
		defer cancel()
		g.finish(a, g.open(ctx))
	})
	return a
}

func (g *gate) finish(a *attempt, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a.err = err
	if err == nil {
		g.passed.Store(true)
	}
	g.attempt = nil
	close(a.done)
}
