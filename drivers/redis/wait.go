package redis

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

const (
	// earlyWake is when a waiter looks again although nothing was published: a
	// message can be lost.
	earlyWake = time.Second
	// poll is the same where there is no subscription.
	poll = 50 * time.Millisecond
)

// WaitLease implements sdk.LeaseWaiter. It returns when the lock is released,
// when its lease ends, and now and then in between.
func (s *store) WaitLease(ctx context.Context, r sdk.LeaseRequest) error {
	topic := s.hub.join(leaseName(r))
	defer s.hub.leave(topic)
	heard := s.hub.await(ctx, topic, poll)
	woken := s.hub.next(topic) // from here on nothing is missed
	g, err := s.lease(ctx, lookAtLease, r, reads)
	if err != nil || g.Remaining <= 0 {
		return err
	}
	limit := earlyWake
	if !heard {
		limit = poll
	}
	timer := time.NewTimer(min(g.Remaining, limit))
	defer timer.Stop()
	select {
	case <-woken:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
