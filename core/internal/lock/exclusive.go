package lock

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

const (
	exclusiveLease = 30 * time.Second
	longestLease   = 24 * time.Hour

	// pollQuietly is how often a waiter that is woken up looks by itself;
	// pollAlone how often one that nobody wakes up does.
	pollQuietly = time.Second
	pollAlone   = 20 * time.Millisecond

	// comeIn is how long a waiter in another process may take to come in, once
	// it has heard that the lock is free.
	comeIn = 5 * time.Millisecond
)

// exclusive has one holder as long as the backend keeps the record. The lease
// is renewed while the block runs; a block whose lease can't be kept is told.
type exclusive struct{ *Backend }

// turns let one participant of this process at a time ask the backend: others
// wait behind it, in order, and cost nothing.
var turns = newRegistry()

func (s exclusive) Check(t Timing) error {
	switch shortest := s.Store.Traits().ShortestLease; {
	case t.Timeout != nil && t.Wait != nil:
		return fmt.Errorf("%w: timeout and wait are the same under exclusive; give one", wire.ErrInvalidLockOption)
	case t.Lease != nil && (*t.Lease < shortest || *t.Lease > longestLease):
		return fmt.Errorf("%w: the lease %v is not between %v and %v", wire.ErrInvalidLockOption, *t.Lease, shortest, longestLease)
	}
	return nil
}

func (s exclusive) Enter(ctx context.Context, r Request) (Held, error) {
	request := sdk.LeaseRequest{
		Strategy: sdk.StrategyExclusive,
		Key:      r.Key,
		Owner:    newOwner(),
		Lease:    s.lease(r.Timing),
	}
	wait := r.Timing.Wait
	if wait == nil {
		wait = r.Timing.Timeout
	}
	ended, stop := limit(wait)
	defer stop()
	id := place{s.Space, r.Key}
	if err := turns.enter(ctx, id, ended, s.Closing); err != nil {
		return Held{}, err
	}
	k, err := s.contend(ctx, request, ended, id)
	if err != nil {
		turns.pass(id)
		return Held{}, err
	}
	return k.held(), nil
}

func (s exclusive) lease(t Timing) time.Duration {
	if t.Lease != nil {
		return *t.Lease
	}
	return max(exclusiveLease, s.Store.Traits().ShortestLease)
}

// contend tries until it wins or the wait is over. The holder's deadline counts
// from before the request that won. A win that was over before its answer came
// is none, nor is one that was lost with the driver's process meanwhile: it
// asks again, and gives back what it may have when it gives up.
func (s exclusive) contend(ctx context.Context, r sdk.LeaseRequest, ended waitLimit, id place) (_ *keeper, err error) {
	if err := s.makeRoom(ctx, id, ended); err != nil {
		return nil, err
	}
	granted := false
	defer func() {
		if granted && err != nil {
			s.Go(func() { s.giveBack(ctx, r) })
		}
	}()
	for {
		k := newKeeper(ctx, s.Backend, r)
		grant, err := s.acquire(ctx, r)
		if err == nil && grant.OK && k.enter(grant.Fence, func() { turns.pass(id) }) {
			return k, nil
		}
		k.forget()
		switch {
		case err != nil:
		case grant.OK:
			granted, err = true, s.over(ctx, ended)
		default:
			turns.endStreak(id)
			err = s.await(ctx, r, grant.Remaining, ended)
		}
		if err != nil {
			return nil, err
		}
	}
}

// makeRoom lets processes that wait elsewhere get the lock: inside this one it
// would be passed on faster than they can come, without an end. One pause in
// twenty is what that may cost.
func (s exclusive) makeRoom(ctx context.Context, id place, ended waitLimit) error {
	room := pollAlone + comeIn
	switch {
	case s.Store.Traits().LockScope == sdk.ScopeProcess:
		return nil
	case s.wakes():
		room = comeIn
	}
	if turns.streak(id) < 20*room {
		return nil
	}
	turns.endStreak(id)
	timer := time.NewTimer(room)
	defer timer.Stop()
	return s.until(ctx, timer.C, ended)
}

// wakes reports whether waiters are woken up.
func (s exclusive) wakes() bool { return s.Store.Capabilities().Has(sdk.CanWaitLease) }

// until returns nil at the time, and else why there is nothing to wait for.
func (s exclusive) until(ctx context.Context, at <-chan time.Time, ended waitLimit) error {
	select {
	case <-at:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Closing.Done():
		return gaveUp(ctx, wire.ErrClosed)
	case <-ended:
		return gaveUp(ctx, wire.ErrLockTimeout)
	}
}

// giveBack releases, on a context of its own, what nobody is going to use.
func (s exclusive) giveBack(ctx context.Context, r sdk.LeaseRequest) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_ = s.release(ctx, r)
}

// over is why there is no further attempt, if there is a reason.
func (s exclusive) over(ctx context.Context, ended waitLimit) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Closing.Done():
		return gaveUp(ctx, wire.ErrClosed)
	case <-ended:
		return gaveUp(ctx, wire.ErrLockTimeout)
	default:
		return nil
	}
}

// await returns nil when it is worth another attempt: woken up, or the lease
// that stands in the way is over, or it is time to look.
func (s exclusive) await(ctx context.Context, r sdk.LeaseRequest, remaining time.Duration, ended waitLimit) error {
	if err := s.over(ctx, ended); err != nil {
		return err
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	due, look := make(chan time.Time, 2), pollAlone
	if s.wakes() {
		look = pollQuietly
		s.Go(func() {
			if s.Store.WaitLease(waiting, r) == nil { // else it is time that tells
				due <- time.Now()
			}
		})
	}
	if remaining > 0 {
		look = min(look, remaining)
	}
	timer := time.AfterFunc(look, func() { due <- time.Now() })
	defer timer.Stop()
	return s.until(ctx, due, ended)
}
