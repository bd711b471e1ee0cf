package core

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// A loadKey is what one load answers for.
type loadKey struct{ key, codec string }

// loads are the detached resolvers of a store, at most one a key.
type loads struct {
	manager *CacheManager
	// ended counts loads. One that ended since a caller's read may have stored
	// what that read missed.
	ended atomic.Uint64

	mu      sync.Mutex // guards below
	running map[loadKey]*loading
	paused  map[loadKey]time.Time // until when a key's resolver is left in peace
}

// A loading is one detached resolver under way. What it found is there once
// done is closed.
type loading struct {
	key     loadKey
	limit   time.Duration
	done    chan struct{}
	expired <-chan struct{} // its context is over: at its limit, or by Close
	cause   func() error    // why

	value    Value
	err      error
	panicked *ResolverPanic

	waiters int // guarded by loads.mu
}

// join returns the load of a key, starting it if none runs. A load ends with
// Close, which waits for it. again tells run that another load ended since the
// caller read.
func (g *loads) join(ctx context.Context, key loadKey, limit time.Duration, seen uint64, waiters int, run func(ctx context.Context, again bool) (Value, error)) (*loading, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a := g.running[key]; a != nil && !isDone(a.expired) {
		a.waiters += waiters
		return a, nil
	}
	if !g.manager.blocks.enter() {
		return nil, ErrClosed
	}
	ctx, cancel := g.bounded(ctx, limit)
	a := &loading{
		key: key, limit: limit, done: make(chan struct{}), waiters: waiters,
		expired: ctx.Done(), cause: func() error { return context.Cause(ctx) },
	}
	if g.running == nil {
		g.running = make(map[loadKey]*loading)
	}
	g.running[key] = a
	again := g.ended.Load() != seen
	go func() {
		defer g.manager.blocks.leave()
		defer cancel()
		g.run(a, func() (Value, error) { return run(ctx, again) })
	}()
	return a, nil
}

// bounded is the context of a load: the asker's values, a limit, and the end of
// the manager.
func (g *loads) bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(g.manager.closing, func() { end(ErrClosed) })
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrResolverTimeout)
	return ctx, func() {
		stop()
		cancel()
		end(nil)
	}
}

func (g *loads) run(a *loading, resolve func() (Value, error)) {
	defer g.finish(a)
	a.err = errNoResolve
	defer func() {
		if p := recover(); p != nil {
			a.panicked = &ResolverPanic{p, debug.Stack()}
			a.err = a.panicked
		}
	}()
	a.value, a.err = resolve()
	if a.err != nil && !a.value.Found() && isDone(a.expired) {
		a.err = a.overdue()
	}
}

// overdue is what a load that outlived its context failed with.
func (a *loading) overdue() error {
	if err := a.cause(); err != ErrResolverTimeout {
		return err
	}
	return fmt.Errorf("%w: it was given %v", ErrResolverTimeout, a.limit)
}

func (g *loads) finish(a *loading) {
	if g.end(a) == 0 {
		g.lament(a)
	}
}

// end lets everybody have what the load found, and returns how many wait for it.
func (g *loads) end(a *loading) (waiters int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended.Add(1)
	if g.running[a.key] == a {
		delete(g.running, a.key)
	}
	close(a.done)
	return a.waiters
}

// lament logs what nobody is there to hear, under no mutex: a log may use the
// cache. Another participant that holds the lock is no failure of a load.
func (g *loads) lament(a *loading) {
	switch {
	case a.panicked != nil:
		g.manager.logger.Error("resolver panicked in the background", "key", a.key.key, "panic", fmt.Sprintf("%T", a.panicked.Value), "stack", string(a.panicked.Stack))
	case a.err != nil && !errors.Is(a.err, ErrNotFound) && !errors.Is(a.err, ErrLockTimeout) && !errors.Is(a.err, ErrClosed):
		g.manager.logger.Warn("value not loaded in the background", "key", a.key.key, "error", a.err)
	}
}

// wait returns what the load found. A caller whose context, patience or load is
// over gets an error and leaves; patience 0 has no end.
func (g *loads) wait(ctx context.Context, a *loading, patience time.Duration) (Value, error) {
	defer g.left(a)
	var slow <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		slow = timer.C
	}
	select {
	case <-a.done:
		return a.result()
	case <-ctx.Done():
		return a.resultOr(ctx.Err())
	case <-slow:
		return a.resultOr(fmt.Errorf("%w: the caller waited %v", ErrResolverTimeout, patience))
	case <-a.expired:
		return a.resultOr(a.overdue())
	}
}

// resultOr is for a wait that ended: what is there all the same is the answer.
func (a *loading) resultOr(err error) (Value, error) {
	if isDone(a.done) {
		return a.result()
	}
	return Value{}, err
}

func (a *loading) result() (Value, error) {
	if a.panicked != nil {
		panic(a.panicked)
	}
	return a.value, a.err
}

func (g *loads) left(a *loading) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a.waiters--
}

// pause leaves a key's resolver in peace for a while.
func (g *loads) pause(key loadKey, d time.Duration) {
	until := time.Now().Add(d)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paused == nil {
		g.paused = make(map[loadKey]time.Time)
	}
	g.paused[key] = until
	time.AfterFunc(d, func() { g.resume(key, until) })
}

func (g *loads) resume(key loadKey, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paused[key].Equal(until) {
		delete(g.paused, key)
	}
}

func (g *loads) isPaused(key loadKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Now().Before(g.paused[key])
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
