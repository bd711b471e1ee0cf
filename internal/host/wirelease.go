package host

import (
	"context"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
	"github.com/cachewright/cachewright/sdk"
)

func (s *wireStore) AcquireLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return s.lease(ctx, fastplane.OpAcquireLease, r)
}

func (s *wireStore) RenewLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return s.lease(ctx, fastplane.OpRenewLease, r)
}

func (s *wireStore) ReleaseLease(ctx context.Context, r sdk.LeaseRequest) (released bool, err error) {
	g, err := s.lease(ctx, fastplane.OpReleaseLease, r)
	return g.OK, err
}

func (s *wireStore) lease(ctx context.Context, op fastplane.Op, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	a, err := s.one(ctx, writes, leaseCall(op, r))
	return sdk.LeaseGrant{OK: a.Yes(), Fence: a.Fence, Remaining: a.TTL}, err
}

func leaseCall(op fastplane.Op, r sdk.LeaseRequest) *fastplane.Request {
	return &fastplane.Request{
		Op:    op,
		Key:   r.Key,
		TTL:   r.Lease,
		Lease: fastplane.Lease{Strategy: r.Strategy, Owner: r.Owner, DriverClock: r.Clock == sdk.DriverClock},
	}
}

// WaitLease takes the control path, so that nobody who waits takes up a place
// of the fast plane. It may return before ctx ends and without news, as any
// LeaseWaiter may: the driver bounds a wait whose context has no deadline.
func (s *wireStore) WaitLease(ctx context.Context, r sdk.LeaseRequest) error {
	if err := checkKey(r.Key); err != nil {
		return err
	}
	in := s.leaseMessage(leaseCall(0, r))
	return s.conn.call(ctx, reads, driverpb.Driver_WaitLease_FullMethodName, in, new(driverpb.Empty))
}
