package sdk

import (
	"context"
	"time"
)

// Lock strategies, as they stand in YAML and in Traits.
const (
	StrategyLocal     = "local"     // inside one host process, needs nothing of a driver
	StrategyRedlock   = "redlock"   // needs an Adder
	StrategyLease     = "lease"     // needs a Leaser
	StrategyExclusive = "exclusive" // needs a Leaser with fences, and a LeaseRenewer
)

// A LeaseClock says whose clock judges a lease.
type LeaseClock int

const (
	// BackendClock is the backend's own, or the driver's where it has none.
	BackendClock LeaseClock = iota
	// DriverClock is the wall clock of the machine that the driver runs on.
	DriverClock
)

// A LeaseRequest asks for a lease, or speaks of one.
type LeaseRequest struct {
	Strategy string // StrategyLease or StrategyExclusive: separate name spaces
	Key      string
	Owner    string        // a random token, the same through all attempts of one owner
	Lease    time.Duration // positive
	Clock    LeaseClock
}

// A LeaseGrant is the answer to a LeaseRequest.
type LeaseGrant struct {
	OK bool // the lease is the owner's
	// Fence rises strictly from grant to grant of one key: it is the larger of
	// the last one plus 1 and the backend's clock in microseconds. 0 under
	// StrategyLease.
	Fence uint64
	// Remaining is how long the lease will last, for a refusal how long the
	// other owner's will, as far as the backend knows.
	Remaining time.Duration
}

// A Leaser grants leases. Leases live apart from entries: no key of one is a
// key of the other, and Clear leaves them alone.
//
// Without it, the strategies lease and exclusive fail with
// errors.ErrUnsupported.
type Leaser interface {
	// AcquireLease makes one attempt, atomically, and never waits. It takes a
	// key that is free, expired or already this owner's.
	AcquireLease(ctx context.Context, r LeaseRequest) (LeaseGrant, error)
	// ReleaseLease ends the lease while it is the owner's, atomically, and
	// reports whether it was.
	ReleaseLease(ctx context.Context, r LeaseRequest) (released bool, err error)
}

// A LeaseRenewer prolongs leases.
//
// Without it, the exclusive strategy fails with errors.ErrUnsupported.
type LeaseRenewer interface {
	// RenewLease prolongs a lease that is the owner's and has not expired, and
	// keeps its fence. Any other is not OK and stays as it is.
	RenewLease(ctx context.Context, r LeaseRequest) (LeaseGrant, error)
}

// A LeaseWaiter wakes up those who wait for a lease.
//
// Without it, waiters poll.
type LeaseWaiter interface {
	// WaitLease returns when the key may have become free. It may return too
	// early. A waiter holds no backend connection of its own.
	WaitLease(ctx context.Context, r LeaseRequest) error
}
