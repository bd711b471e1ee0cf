// Package lock holds the lock strategies: how a participant enters and leaves.
// What is common to all of them, options, reentrancy and the block itself, is
// core's.
package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cachewright/cachewright/internal/host"
	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// releaseTimeout bounds a release, which runs on a context of its own.
const releaseTimeout = 10 * time.Second

// A Config is what a Backend needs.
type Config struct {
	Store       host.Store
	Space       any           // what the lock's data lives in: comparable, equal for stores that share their locks
	CallTimeout time.Duration // bounds each call of an entry; a wait may take many
	Closing     context.Context
	Elapsed     func() time.Duration // a clock that runs through suspend
	Go          func(func())         // runs a duty that outlives its caller; the manager waits for it
}

// A Backend is what the locks of one store are made from.
type Backend struct {
	Config
	events events // of redlock
	first  sync.Once
}

// AtFirst calls f if it has not called anything yet.
func (b *Backend) AtFirst(f func()) { b.first.Do(f) }

// NewBackend makes the backend of an opened store.
func NewBackend(c Config) *Backend { return &Backend{Config: c, events: newEvents()} }

// Timing is what the options and the store's lock block say; nil is unset.
type Timing struct {
	Timeout *time.Duration // the document's single control
	Wait    *time.Duration // exclusive only
	Lease   *time.Duration // exclusive only
}

// A Request is one participant's wish to enter.
type Request struct {
	Key    string // the physical key
	Timing Timing
}

// A Held lock is left by Release, which is called once, when the block is over.
type Held struct {
	// Release gives the lock back, on a bounded context. nil: nothing to do.
	Release func(ctx context.Context) error
	// Fence is the fencing token, 0 under strategies without.
	Fence uint64
	// Watch has a function called, once, when the lock can't be kept any more,
	// and at once if it can't already. nil: that never happens.
	Watch func(lost func())
	// Lost reports whether that has happened. It comes with Watch.
	Lost func() bool
}

// A Strategy is a way in and out.
type Strategy interface {
	// Check refuses timing that the strategy does not take, before anything
	// else happens. Nothing in t is negative.
	Check(t Timing) error
	// Enter returns when the strategy's entry is over. If it fails, nothing is
	// held. When ctx is done, it fails with ctx's error.
	Enter(ctx context.Context, r Request) (Held, error)
}

// Of finds a strategy by name and checks that the store can carry it.
func Of(strategy string, b *Backend) (Strategy, error) {
	switch strategy {
	case sdk.StrategyLocal:
		return local{b}, nil
	case sdk.StrategyRedlock:
		return redlock{b}, b.needs(strategy, sdk.CanAdd)
	case sdk.StrategyLease:
		return lease{b}, b.needs(strategy, sdk.CanLease)
	case sdk.StrategyExclusive:
		return exclusive{b}, b.needs(strategy, sdk.CanLease, sdk.CanRenewLease)
	case "":
		return nil, unsupported("the driver announces no lock strategy")
	}
	return nil, unsupported(fmt.Sprintf("there is no strategy %q", strategy))
}

func (b *Backend) needs(strategy string, capabilities ...sdk.Capability) error {
	for _, c := range capabilities {
		if !b.Store.Capabilities().Has(c) {
			return unsupported(fmt.Sprintf("strategy %s needs %s, which the driver does not have", strategy, c))
		}
	}
	return nil
}

func unsupported(why string) error {
	return fmt.Errorf("%s; lock: {strategy: local} on the store locks inside this process: %w", why, errors.ErrUnsupported)
}

// newOwner draws the token of one participant.
func newOwner() string { return rand.Text() }

// Refuse is the part of Check that all strategies share: nothing is negative.
func (t Timing) Refuse() error {
	for name, d := range map[string]*time.Duration{"timeout": t.Timeout, "wait": t.Wait, "lease": t.Lease} {
		if d != nil && *d < 0 {
			return fmt.Errorf("%w: the %s %v is negative", wire.ErrInvalidLockOption, name, *d)
		}
	}
	return nil
}

// refuseExclusive is the check of the document's strategies, which have the
// timeout as their single control.
func (t Timing) refuseExclusive(strategy string) error {
	if t.Wait != nil || t.Lease != nil {
		return fmt.Errorf("%w: wait and lease belong to the strategy exclusive, and this lock is %s", wire.ErrInvalidLockOption, strategy)
	}
	return nil
}

// limit is a wait's timer. A nil duration never ends it.
func limit(d *time.Duration) (ended <-chan time.Time, stop func()) {
	if d == nil {
		return nil, func() {}
	}
	timer := time.NewTimer(*d)
	return timer.C, func() { timer.Stop() }
}

// gaveUp is why a wait ended: a done context wins over the wait's own limit.
func gaveUp(ctx context.Context, why error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return why
}
