package core

import (
	"context"
	"fmt"
	"sync"
)

// A flight opens something once for all who ask at the same time, each waiting
// under a context of its own. A success stays, a failure does not.
type flight[T any] struct {
	mu      sync.Mutex
	running *attempt[T] // the one under way, or the one that succeeded
}

type attempt[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// do returns what open returned. open runs on a context that keeps the first
// asker's values and not its cancellation.
func (f *flight[T]) do(ctx context.Context, open func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	a := f.join(ctx, open)
	select {
	case <-a.done:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (f *flight[T]) join(ctx context.Context, open func(context.Context) (T, error)) *attempt[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running != nil {
		return f.running
	}
	a := &attempt[T]{done: make(chan struct{})}
	f.running = a
	go f.run(context.WithoutCancel(ctx), a, open)
	return a
}

func (f *flight[T]) run(ctx context.Context, a *attempt[T], open func(context.Context) (T, error)) {
	defer close(a.done)
	a.err = fmt.Errorf("opening ended its goroutine")
	defer func() {
		if p := recover(); p != nil {
			a.err = fmt.Errorf("opening panicked: %v", p)
		}
		if a.err != nil {
			f.mu.Lock()
			f.running = nil
			f.mu.Unlock()
		}
	}()
	a.value, a.err = open(ctx)
}
