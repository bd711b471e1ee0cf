package core

import (
	"context"
	"fmt"
	"sync"
)

// blocks counts the participants that are inside a lock or on their way in, and
// the detached resolvers, so that Close can wait for them.
type blocks struct {
	mu      sync.Mutex
	running int
	closed  bool
	idle    chan struct{} // made by drain, closed when nothing runs any more
}

func (b *blocks) enter() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.running++
	return true
}

// spawn runs a duty of somebody who is inside, in a goroutine of its own.
func (b *blocks) spawn(duty func()) {
	b.mu.Lock()
	b.running++
	b.mu.Unlock()
	go func() {
		defer b.leave()
		duty()
	}()
}

func (b *blocks) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	if b.closed && b.running == 0 {
		close(b.idle)
	}
}

// drain lets nobody in any more and waits for those inside.
func (b *blocks) drain(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.idle = make(chan struct{})
	running := b.running
	if running == 0 {
		close(b.idle)
	}
	b.mu.Unlock()
	select {
	case <-b.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("blocks under a lock, or resolvers of Remember, are still running: %w", ctx.Err())
	}
}
