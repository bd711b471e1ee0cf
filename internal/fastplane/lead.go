package fastplane

import (
	"errors"
	"os"
	"runtime"
	"time"
)

// leadWindow is how long a caller reads the socket itself before it leaves that
// to the reader, and the most by which a cancellation may then be late.
const leadWindow = time.Millisecond

// calmRounds is after how many reads for one call alone the reader leaves the
// reading to the callers again.
const calmRounds = 16

// leadFor reads the socket until the answer of s is there, or for a moment. A
// call that is alone is answered soonest so: nobody has to be woken. The caller
// has the lead, and gives it up here.
func (c *Client) leadFor(s *slot) {
	err := c.pollFor(s)
	if err == nil && !s.is(phaseDone) {
		err = c.readFor(s)
	}
	if err != nil {
		c.fail(err)
	}
	c.leading.Store(false)
	if c.pending.Load() > 0 {
		c.call()
	}
}

// pollFor polls the socket, if that pays, for as long as the call is alone.
func (c *Client) pollFor(s *slot) error {
	if !c.spin.begin() {
		return nil
	}
	defer c.spin.end()
	if err := c.limit(time.Time{}); err != nil {
		return err
	}
	for n := range spinPolls {
		c.spin.pause(n)
		if c.in.poll() {
			if err := c.handAll(); err != nil {
				return err
			}
		}
		if s.is(phaseDone) {
			c.spin.won()
			return nil
		}
		if c.pending.Load() > 1 {
			return nil // the others need this core
		}
	}
	c.spin.lost()
	return nil
}

// readFor reads the socket for as long as a caller may.
func (c *Client) readFor(s *slot) error {
	if err := c.limit(time.Now().Add(leadWindow)); err != nil {
		return err
	}
	for !s.is(phaseDone) {
		err := c.read()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// limit sets the deadline of reads, or none.
func (c *Client) limit(deadline time.Time) error {
	if deadline.IsZero() && !c.timed {
		return nil
	}
	c.timed = !deadline.IsZero()
	return c.socket.SetReadDeadline(deadline)
}

// fewAnswers is the share of the calls under way, as a divisor, whose answers
// make a poll worth while.
const fewAnswers = 8

// call has the reader read the socket.
func (c *Client) call() {
	select {
	case c.needed <- struct{}{}:
	default:
	}
}

// readOn is the reader: it has the lead while several calls are under way, or
// one that takes its time.
func (c *Client) readOn() {
	for {
		select {
		case <-c.needed:
		case <-c.broken:
			return
		}
		if !c.leading.CompareAndSwap(false, true) {
			continue // who leads calls again, if need be
		}
		if err := c.readMany(); err != nil {
			c.fail(err)
			return
		}
		c.leading.Store(false)
		if c.pending.Load() > 0 {
			c.call()
		}
	}
}

func (c *Client) readMany() error {
	if err := c.limit(time.Time{}); err != nil {
		return err
	}
	for calm := 0; calm < calmRounds; calm++ {
		if c.pending.Load() > 1 {
			calm = 0
		}
		if err := c.readOne(); err != nil {
			return err
		}
	}
	return nil
}

// readOne reads once, and polls for a moment before if that pays.
func (c *Client) readOne() error {
	came, err := c.pollForMany()
	if came || err != nil {
		return err
	}
	return c.read()
}

// pollForMany polls while calls are under way. The callers whom the last read woke
// come first.
func (c *Client) pollForMany() (came bool, err error) {
	if !c.crowd.begin() {
		return false, nil
	}
	defer c.crowd.end()
	for n := range spinPolls {
		if n%pollsATurn == 0 {
			runtime.Gosched()
		}
		waiting := c.pending.Load()
		if waiting == 0 {
			return false, nil
		}
		if c.in.poll() {
			err := c.handAll()
			c.learn(waiting, waiting-c.pending.Load())
			return true, err
		}
	}
	c.crowd.lost()
	return false, nil
}

// learn tells how polling for many went. Where answers come one by one, it is
// better to sleep until there are more.
func (c *Client) learn(waiting, answered int32) {
	if answered*fewAnswers >= waiting {
		c.crowd.won()
	} else {
		c.crowd.lost()
	}
}

// read reads once, and hands over what came.
func (c *Client) read() error {
	if err := c.in.fill(); err != nil {
		return err
	}
	return c.handAll()
}

func (c *Client) handAll() error {
	for {
		f, ok, err := c.in.next()
		if err != nil || !ok {
			return err
		}
		if err := c.hand(f); err != nil {
			return err
		}
	}
}

// hand gives an answer, or a part of one, to whom it belongs.
func (c *Client) hand(f frame) error {
	s := c.slotOf(f.id)
	if s == nil || !s.is(phaseWaiting) && !s.is(phaseAbandoned) || s.id() != f.id {
		if c.Err() != nil {
			return c.Err()
		}
		return broken("an answer that nobody waits for")
	}
	switch {
	case f.kind == kindAnswer && s.parts == nil && f.size > len(f.part):
		s.parts = begin(f)
		return nil
	case f.kind == kindAnswer && s.parts == nil:
		c.answered(s, func() { s.fill(Status(f.code), f.part) })
		return nil
	case f.kind == kindMore && s.parts != nil:
		whole, err := s.parts.add(f.part)
		if whole {
			c.answered(s, s.takeParts)
		}
		return err
	}
	return broken("a frame of kind %d where an answer should go on or begin", f.kind)
}

// answered ends a call whose answer has come.
func (c *Client) answered(s *slot, fill func()) {
	c.pending.Add(-1)
	if s.move(phaseWaiting, phaseClaimed) {
		fill()
		s.phase.Store(uint32(phaseDone))
		s.wake()
		return
	}
	if s.is(phaseAbandoned) {
		c.release(s)
	}
}

// slotOf returns the slot of an id, or nil.
func (c *Client) slotOf(id uint64) *slot {
	if n := uint32(id); n < uint32(c.made.Load()) {
		return c.slots[n]
	}
	return nil
}
