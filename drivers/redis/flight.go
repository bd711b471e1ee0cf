package redis

import (
	"context"
	"sync"
)

// A flight does something that doesn't heed cancellation, once for all who want
// it at the same time, while each of them waits as long as it likes.
type flight[T any] struct {
	running sync.WaitGroup

	mu      sync.Mutex // guards below
	current *landing[T]
}

type landing[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// do joins what is under way, or starts work, which must end by itself.
func (f *flight[T]) do(ctx context.Context, work func(context.Context) (T, error)) (T, error) {
	l := f.join(ctx, work)
	select {
	case <-l.done:
		return l.value, l.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (f *flight[T]) join(ctx context.Context, work func(context.Context) (T, error)) *landing[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current != nil {
		return f.current
	}
	l := &landing[T]{done: make(chan struct{})}
	f.current = l
	f.running.Go(func() {
		l.value, l.err = work(context.WithoutCancel(ctx))
		f.mu.Lock()
		defer f.mu.Unlock()
		f.current = nil
		close(l.done)
	})
	return l
}
