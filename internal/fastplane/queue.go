package fastplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// maxQueue is how many callers may wait for a slot.
const maxQueue = 16 << 10

// A ticket is a caller's place in the queue for a slot. Whoever takes it out of
// the queue sends one slot, or nil where there will be none.
type ticket struct {
	slot     chan *slot
	value    bool
	deadline time.Duration // on the client's clock; 0 for none that the client watches
}

var tickets = sync.Pool{New: func() any { return &ticket{slot: make(chan *slot, 1)} }}

// acquire returns a slot, for which it may have to wait.
func (c *Client) acquire(ctx context.Context, t limits, value bool) (*slot, error) {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	if len(c.queue) == 0 {
		if s := c.unused(); s != nil {
			s.begin(value, t.deadline)
			c.mu.Unlock()
			return s, nil
		}
	}
	if len(c.queue) >= maxQueue {
		c.mu.Unlock()
		return nil, fmt.Errorf("%w: %d calls are under way and %d wait", wire.ErrOverloaded, Slots, maxQueue)
	}
	place := tickets.Get().(*ticket)
	place.value, place.deadline = value, t.deadline
	c.queue = append(c.queue, place)
	c.mu.Unlock()
	if t.watched {
		c.watch(t.deadline)
	}
	return c.turn(ctx, t, place)
}

// unused returns a free slot, if there is one. It is called with mu held.
func (c *Client) unused() *slot {
	if n := len(c.free); n > 0 {
		s := c.free[n-1]
		c.free = c.free[:n-1]
		return s
	}
	made := c.made.Load()
	if made == Slots {
		return nil
	}
	s := newSlot(uint32(made))
	c.slots[made] = s
	c.made.Store(made + 1)
	return s
}

// turn waits for the slot that a ticket brings.
func (c *Client) turn(ctx context.Context, t limits, place *ticket) (*slot, error) {
	var s *slot
	select {
	case s = <-place.slot:
	case <-t.done:
		if c.withdraw(place) {
			tickets.Put(place)
			return nil, queueError(ctx)
		}
		if s = <-place.slot; s != nil { // it has come meanwhile
			c.release(s)
			s = nil
		}
	}
	tickets.Put(place)
	if s != nil {
		return s, nil
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return nil, queueError(ctx)
}

func queueError(ctx context.Context) error {
	err := reason(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %d calls were under way all the time: %w", wire.ErrOverloaded, Slots, err)
	}
	return err
}

func (c *Client) withdraw(t *ticket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, t)
	if i < 0 {
		return false
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	return true
}

// dismiss sends those away whose time has run out in the queue, and says when
// that of the next one will have; 0 for none.
func (c *Client) dismiss(now int64) (next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = slices.DeleteFunc(c.queue, func(t *ticket) bool {
		switch {
		case t.deadline == 0:
		case int64(t.deadline) <= now:
			t.slot <- nil
			return true
		case next == 0 || int64(t.deadline) < next:
			next = int64(t.deadline)
		}
		return false
	})
	return next
}

// release gives a slot to the next caller in the queue. After a failure nobody
// is given one.
func (c *Client) release(s *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	s.clear()
	if len(c.queue) == 0 {
		c.free = append(c.free, s)
		return
	}
	next := c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	s.begin(next.value, next.deadline)
	next.slot <- s
}
