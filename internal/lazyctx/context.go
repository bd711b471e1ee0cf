// Package lazyctx has a context whose deadline costs a timer only where
// somebody waits for it.
package lazyctx

import (
	"context"
	"sync/atomic"
	"time"
)

// A Context is a parent with a deadline. It is a full context; but it makes its
// channel, and the timer behind that, when Done is first called, so that a call
// whose end is watched by other means pays one allocation. Parent and Deadline
// are what such means need.
type Context struct {
	parent   context.Context
	deadline time.Time
	timeout  time.Duration

	timed atomic.Pointer[timed] // nil until it is needed; ended if it no longer is
}

type timed struct {
	context.Context
	cancel context.CancelFunc
}

// ended stands for the full context of one that ended without.
var ended = func() *timed {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return &timed{ctx, cancel}
}()

// WithTimeout gives parent, which should have no earlier deadline of its own, a
// deadline. Whoever made the context calls End.
func WithTimeout(parent context.Context, timeout time.Duration) *Context {
	return &Context{parent: parent, deadline: time.Now().Add(timeout), timeout: timeout}
}

// Parent is the context without the deadline.
func (c *Context) Parent() context.Context { return c.parent }

// Timeout is how long the deadline was away when the context was made.
func (c *Context) Timeout() time.Duration { return c.timeout }

// Deadline is context.Context's.
func (c *Context) Deadline() (time.Time, bool) { return c.deadline, true }

// Done is context.Context's.
func (c *Context) Done() <-chan struct{} { return c.materialise().Done() }

// Err is context.Context's.
func (c *Context) Err() error {
	switch t := c.timed.Load(); {
	case t == ended:
		return context.Canceled
	case t != nil:
		return t.Err()
	}
	if err := c.parent.Err(); err != nil {
		return err
	}
	if !time.Now().Before(c.deadline) {
		return c.materialise().Err() // so that it stays what it is
	}
	return nil
}

// Value is context.Context's.
func (c *Context) Value(key any) any {
	if t := c.timed.Load(); t != nil && t != ended {
		return t.Value(key)
	}
	return c.parent.Value(key)
}

// End cancels the context and releases what it holds.
func (c *Context) End() {
	if c.timed.Load() == nil && c.parent.Err() != nil {
		return // it has ended with its parent, and holds nothing
	}
	if !c.timed.CompareAndSwap(nil, ended) {
		c.timed.Load().cancel()
	}
}

func (c *Context) materialise() *timed {
	if t := c.timed.Load(); t != nil {
		return t
	}
	ctx, cancel := context.WithDeadline(c.parent, c.deadline)
	t := &timed{ctx, cancel}
	if c.timed.CompareAndSwap(nil, t) {
		return t
	}
	cancel()
	return c.timed.Load()
}
