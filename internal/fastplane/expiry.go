package fastplane

import (
	"sync"
	"sync/atomic"
	"time"
)

// An expiry is the one timer of all deadlines that have none of their own.
type expiry struct {
	armed atomic.Int64 // when it strikes next, on the client's clock; 0 for not at all
	mu    sync.Mutex   // changes armed together with the timer
	timer *time.Timer
}

// watch has the caller of a slot woken at its deadline.
func (c *Client) watch(deadline time.Duration) {
	if armed := c.expiry.armed.Load(); armed == 0 || int64(deadline) < armed {
		c.arm(int64(deadline))
	}
}

func (c *Client) arm(at int64) {
	c.expiry.mu.Lock()
	defer c.expiry.mu.Unlock()
	if armed := c.expiry.armed.Load(); armed != 0 && armed <= at {
		return
	}
	c.expiry.armed.Store(at)
	c.expiry.timer.Reset(time.Duration(at) - time.Since(c.start))
}

// expire wakes the callers whose time is over, and sets the timer to the next.
func (c *Client) expire() {
	c.expiry.armed.Store(0) // who comes from here on sets it
	now := int64(time.Since(c.start))
	next := c.dismiss(now)
	for _, s := range c.slots[:c.made.Load()] {
		at := s.deadline.Load()
		switch {
		case at == 0 || !s.is(phaseWaiting):
		case at <= now:
			s.wake()
		case next == 0 || at < next:
			next = at
		}
	}
	if next != 0 {
		c.arm(next)
	}
}
