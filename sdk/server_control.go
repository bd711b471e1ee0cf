package sdk

import (
	"context"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

func (s *server) Keys(ctx context.Context, r *driverpb.KeysRequest) (*driverpb.KeysReply, error) {
	in, err := s.stores.find(r.Store)
	if err != nil {
		return nil, err
	}
	limit := int(min(r.Limit, wire.MaxBatchKeys))
	keys, next, err := in.Keys(ctx, r.Prefix, r.Cursor, limit)
	return &driverpb.KeysReply{Keys: keys, Next: next}, err
}

func (s *server) Clear(ctx context.Context, r *driverpb.ClearRequest) (*driverpb.ClearReply, error) {
	in, err := s.stores.find(r.Store)
	if err != nil {
		return nil, err
	}
	next, removed, err := in.Clear(ctx, r.Prefix, r.Cursor)
	return &driverpb.ClearReply{Next: next, Removed: uint64(max(0, removed))}, err
}

// WaitLease may return early; so a wait that nobody bounded ends without news
// instead of an error.
func (s *server) WaitLease(ctx context.Context, r *driverpb.LeaseRequest) (*driverpb.Empty, error) {
	in, err := s.stores.find(r.Store)
	if err != nil {
		return nil, err
	}
	if err := checkKey(r.Key); err != nil {
		return nil, err
	}
	err = in.WaitLease(ctx, leaseRequest(leaseCall(0, r)))
	if err != nil && context.Cause(ctx) == errUnasked {
		return &driverpb.Empty{}, nil
	}
	return &driverpb.Empty{}, err
}

func (s *server) Ping(ctx context.Context, r *driverpb.StoreRequest) (*driverpb.Empty, error) {
	in, err := s.stores.find(r.Store)
	if err != nil {
		return nil, err
	}
	return &driverpb.Empty{}, in.Ping(ctx)
}

func (s *server) Stats(ctx context.Context, r *driverpb.StoreRequest) (*driverpb.StatsReply, error) {
	in, err := s.stores.find(r.Store)
	if err != nil {
		return nil, err
	}
	stats, err := in.Stats(ctx)
	return &driverpb.StatsReply{Stats: statMessages(stats)}, err
}
