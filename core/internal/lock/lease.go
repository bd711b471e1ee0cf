package lock

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

const (
	leasePoll    = 50 * time.Millisecond
	defaultLease = 10 * time.Second // of lease and redlock
)

// lease reserves a row until a wall-clock time of the acquiring machine. It
// polls, in no order, and never renews: when the lease ends, the block runs on
// and the next participant may be inside beside it.
type lease struct{ *Backend }

func (lease) Check(t Timing) error { return t.refuseExclusive(sdk.StrategyLease) }

func (s lease) Enter(ctx context.Context, r Request) (Held, error) {
	request := sdk.LeaseRequest{
		Strategy: sdk.StrategyLease,
		Key:      r.Key,
		Owner:    newOwner(),
		Lease:    r.Timing.documentLease(),
		Clock:    sdk.DriverClock,
	}
	for start := time.Now(); ; {
		grant, err := s.acquire(ctx, request)
		if err != nil {
			return Held{}, err
		}
		if grant.OK {
			return Held{Release: func(ctx context.Context) error { return s.release(ctx, request) }}, nil
		}
		if limit := r.Timing.Timeout; limit != nil && time.Since(start) >= *limit {
			return Held{}, wire.ErrLockTimeout
		}
		if err := s.pause(ctx, leasePoll); err != nil {
			return Held{}, err
		}
	}
}

// documentLease is the timeout, or ten seconds where there is none or it is 0.
func (t Timing) documentLease() time.Duration {
	if t.Timeout == nil || *t.Timeout == 0 {
		return defaultLease
	}
	return *t.Timeout
}

func (b *Backend) acquire(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return attempt(ctx, b,
		func(ctx context.Context) (sdk.LeaseGrant, error) { return b.Store.AcquireLease(ctx, r) },
		func(ctx context.Context, _ sdk.LeaseGrant) { _ = b.release(ctx, r) })
}

// release ends the lease while it is the owner's; one that has ended is no
// error.
func (b *Backend) release(ctx context.Context, r sdk.LeaseRequest) error {
	_, err := b.Store.ReleaseLease(ctx, r)
	return err
}

func (b *Backend) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-b.Closing.Done():
		return gaveUp(ctx, wire.ErrClosed)
	}
}
