package host

import (
	"context"

	"github.com/cachewright/cachewright/internal/wire/driverpb"
	"github.com/cachewright/cachewright/sdk"
)

func (s *wireStore) AcquireLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return s.lease(ctx, driverpb.Driver_AcquireLease_FullMethodName, r)
}

func (s *wireStore) RenewLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return s.lease(ctx, driverpb.Driver_RenewLease_FullMethodName, r)
}

func (s *wireStore) ReleaseLease(ctx context.Context, r sdk.LeaseRequest) (released bool, err error) {
	in, err := s.leaseRequest(r)
	if err != nil {
		return false, err
	}
	var out driverpb.BoolReply
	err = s.conn.call(ctx, writes, driverpb.Driver_ReleaseLease_FullMethodName, in, &out)
	return out.Ok, err
}

// WaitLease may return before ctx ends and without news, as any LeaseWaiter
// may: the driver bounds a wait whose context has no deadline.
func (s *wireStore) WaitLease(ctx context.Context, r sdk.LeaseRequest) error {
	in, err := s.leaseRequest(r)
	if err != nil {
		return err
	}
	return s.conn.call(ctx, reads, driverpb.Driver_WaitLease_FullMethodName, in, new(driverpb.Empty))
}

func (s *wireStore) lease(ctx context.Context, method string, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	in, err := s.leaseRequest(r)
	if err != nil {
		return sdk.LeaseGrant{}, err
	}
	var out driverpb.LeaseReply
	if err := s.conn.call(ctx, writes, method, in, &out); err != nil {
		return sdk.LeaseGrant{}, err
	}
	return grantFrom(&out), nil
}

func (s *wireStore) leaseRequest(r sdk.LeaseRequest) (*driverpb.LeaseRequest, error) {
	if err := checkKey(r.Key); err != nil {
		return nil, err
	}
	return &driverpb.LeaseRequest{
		Store:       s.number,
		Strategy:    r.Strategy,
		Key:         r.Key,
		Owner:       r.Owner,
		Lease:       int64(r.Lease),
		DriverClock: r.Clock == sdk.DriverClock,
	}, nil
}
