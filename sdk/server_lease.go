package sdk

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

func (s *server) AcquireLease(ctx context.Context, r *driverpb.LeaseRequest) (*driverpb.LeaseReply, error) {
	in, err := s.leasing(r)
	if err != nil {
		return nil, err
	}
	grant, err := in.AcquireLease(ctx, leaseRequest(r))
	return grantMessage(grant), err
}

func (s *server) RenewLease(ctx context.Context, r *driverpb.LeaseRequest) (*driverpb.LeaseReply, error) {
	in, err := s.leasing(r)
	if err != nil {
		return nil, err
	}
	grant, err := in.RenewLease(ctx, leaseRequest(r))
	return grantMessage(grant), err
}

func (s *server) ReleaseLease(ctx context.Context, r *driverpb.LeaseRequest) (*driverpb.BoolReply, error) {
	in, err := s.at(r.Store, r.Key)
	if err != nil {
		return nil, err
	}
	released, err := in.ReleaseLease(ctx, leaseRequest(r))
	return &driverpb.BoolReply{Ok: released}, err
}

// WaitLease may return early; so a wait that nobody bounded ends without news
// instead of an error.
func (s *server) WaitLease(ctx context.Context, r *driverpb.LeaseRequest) (*driverpb.Empty, error) {
	in, err := s.at(r.Store, r.Key)
	if err != nil {
		return nil, err
	}
	err = in.WaitLease(ctx, leaseRequest(r))
	if err != nil && context.Cause(ctx) == errUnasked {
		return &driverpb.Empty{}, nil
	}
	return &driverpb.Empty{}, err
}

func (s *server) leasing(r *driverpb.LeaseRequest) (*Instance, error) {
	if r.Lease <= 0 {
		return nil, fmt.Errorf("%w: the lease must be positive", wire.ErrInvalidTTL)
	}
	return s.at(r.Store, r.Key)
}

func leaseRequest(r *driverpb.LeaseRequest) LeaseRequest {
	clock := BackendClock
	if r.DriverClock {
		clock = DriverClock
	}
	return LeaseRequest{
		Strategy: r.Strategy,
		Key:      r.Key,
		Owner:    r.Owner,
		Lease:    time.Duration(r.Lease),
		Clock:    clock,
	}
}

func grantMessage(g LeaseGrant) *driverpb.LeaseReply {
	return &driverpb.LeaseReply{Ok: g.OK, Fence: g.Fence, Remaining: int64(g.Remaining)}
}
