// Package lock holds the lock strategies: how a participant enters and leaves.
// What is common to all of them, options, reentrancy and the block itself, is
// core's.
package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/internal/host"
	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// A Request is one participant's wish to enter.
type Request struct {
	Store   host.Store
	Space   any    // what the lock's data lives in: comparable, equal for stores that share their locks
	Key     string // the physical key
	Timing  Timing
	Closing context.Context // done when the manager closes: waits end with ErrClosed
}

// Timing is what the options and the store's lock block say; nil is unset.
type Timing struct {
	Timeout *time.Duration // the document's single control
	Wait    *time.Duration // exclusive only
	Lease   *time.Duration // exclusive only
}

// A Held lock is left by Release, which is called once, on a bounded context.
type Held interface {
	Release(ctx context.Context) error
}

// A Strategy is a way in and out.
type Strategy interface {
	// Check refuses timing that the strategy does not take, before anything
	// else happens.
	Check(t Timing) error
	// Enter returns when the strategy's entry is over. If it fails, nothing is
	// held. When ctx is done, it fails with ctx's error.
	Enter(ctx context.Context, r Request) (Held, error)
}

// Of finds a strategy by name and checks that the store can carry it.
func Of(strategy string, store host.Store) (Strategy, error) {
	switch strategy {
	case sdk.StrategyLocal:
		return local{}, nil
	case "":
		return nil, unsupported("the driver announces no lock strategy")
	}
	return nil, unsupported(fmt.Sprintf("strategy %s is not available", strategy))
}

func unsupported(why string) error {
	return fmt.Errorf("%s; lock: {strategy: local} on the store locks inside this process: %w", why, errors.ErrUnsupported)
}

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
