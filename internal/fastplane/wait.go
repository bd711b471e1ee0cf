package fastplane

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/internal/lazyctx"
)

// limits are how long a call may take.
type limits struct {
	left     time.Duration   // what the other end is told
	watched  bool            // the deadline has no timer but the client's
	deadline time.Duration   // on the client's clock
	done     <-chan struct{} // ends the call before; may be nil
}

// timing reads a context, and fails if it has ended.
func timing(ctx context.Context, start time.Time) (limits, error) {
	if lazy, ok := ctx.(*lazyctx.Context); ok {
		deadline, _ := lazy.Deadline()
		parent := lazy.Parent()
		return limits{lazy.Timeout(), true, deadline.Sub(start), parent.Done()}, parent.Err()
	}
	t := limits{done: ctx.Done()}
	if deadline, ok := ctx.Deadline(); ok {
		t.left = max(time.Until(deadline), 1)
	}
	return t, ctx.Err()
}

// await waits for the answer. When ctx ends before, the slot is abandoned. Most
// calls are over before anybody could think of ending them, and to watch a
// channel that many share is dear: so done is watched only once the call is slow.
func (c *Client) await(ctx context.Context, t limits, s *slot) error {
	if t.done != nil && !s.is(phaseDone) && s.patience.CompareAndSwap(patienceNone, patienceNew) {
		c.pulse.beat()
	}
	left := false
	for !s.is(phaseDone) {
		if t.done == nil || left || s.patience.Load() != patienceOver {
			<-s.poke
		} else {
			select {
			case <-s.poke:
			case <-t.done:
				left = true
			}
		}
		if s.is(phaseDone) {
			return nil
		}
		if !left && (!t.watched || time.Since(c.start) < t.deadline) {
			continue
		}
		if c.abandon(s) {
			return reason(ctx)
		}
	}
	return nil
}

// reason is why a call that was left has ended. The timer that a lazy context
// has got meanwhile may be later than the client's.
func reason(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// abandon leaves a call that is under way, unless its answer is there, and
// tells the other end that nobody waits for it any more. Once left, the slot
// may serve another call at any time.
func (c *Client) abandon(s *slot) bool {
	id := s.id()
	if !s.move(phaseWaiting, phaseAbandoned) {
		return false
	}
	flush, _ := c.out.add(context.Background(), unlimited, func(b []byte) []byte {
		return appendHeader(b, kindCancel, 0, id, 0, 0)
	})
	if flush {
		c.out.flush(true)
	}
	return true
}
