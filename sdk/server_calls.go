package sdk

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

// The calls of the data path, as gRPC brings them.

func (s *server) Get(ctx context.Context, r *driverpb.KeyRequest) (*driverpb.ValueReply, error) {
	return s.value(ctx, fastplane.OpGet, r)
}

func (s *server) Pull(ctx context.Context, r *driverpb.KeyRequest) (*driverpb.ValueReply, error) {
	return s.value(ctx, fastplane.OpPull, r)
}

func (s *server) value(ctx context.Context, op fastplane.Op, r *driverpb.KeyRequest) (*driverpb.ValueReply, error) {
	a, err := s.do(ctx, &fastplane.Request{Op: op, Store: r.Store, Key: r.Key})
	return &driverpb.ValueReply{Found: a.Yes(), Value: a.Value}, err
}

func (s *server) Set(ctx context.Context, r *driverpb.SetRequest) (*driverpb.Empty, error) {
	_, err := s.put(ctx, fastplane.OpSet, r)
	return &driverpb.Empty{}, err
}

func (s *server) Add(ctx context.Context, r *driverpb.SetRequest) (*driverpb.BoolReply, error) {
	return s.put(ctx, fastplane.OpAdd, r)
}

func (s *server) Replace(ctx context.Context, r *driverpb.SetRequest) (*driverpb.BoolReply, error) {
	return s.put(ctx, fastplane.OpReplace, r)
}

func (s *server) put(ctx context.Context, op fastplane.Op, r *driverpb.SetRequest) (*driverpb.BoolReply, error) {
	return s.yesNo(ctx, &fastplane.Request{Op: op, Store: r.Store, Key: r.Key, Value: r.Value, TTL: time.Duration(r.Ttl)})
}

func (s *server) Delete(ctx context.Context, r *driverpb.KeyRequest) (*driverpb.BoolReply, error) {
	return s.yesNo(ctx, &fastplane.Request{Op: fastplane.OpDelete, Store: r.Store, Key: r.Key})
}

func (s *server) CompareDelete(ctx context.Context, r *driverpb.CompareDeleteRequest) (*driverpb.BoolReply, error) {
	return s.yesNo(ctx, &fastplane.Request{Op: fastplane.OpCompareDelete, Store: r.Store, Key: r.Key, Value: r.Value})
}

func (s *server) Touch(ctx context.Context, r *driverpb.TouchRequest) (*driverpb.BoolReply, error) {
	return s.yesNo(ctx, &fastplane.Request{Op: fastplane.OpTouch, Store: r.Store, Key: r.Key, TTL: time.Duration(r.Ttl)})
}

func (s *server) ReleaseLease(ctx context.Context, r *driverpb.LeaseRequest) (*driverpb.BoolReply, error) {
	return s.yesNo(ctx, leaseCall(fastplane.OpReleaseLease, r))
}

func (s *server) yesNo(ctx context.Context, r *fastplane.Request) (*driverpb.BoolReply, error) {
	a, err := s.do(ctx, r)
	return &driverpb.BoolReply{Ok: a.Yes()}, err
}

func (s *server) Increment(ctx context.Context, r *driverpb.IncrementRequest) (*driverpb.IncrementReply, error) {
	a, err := s.do(ctx, &fastplane.Request{
		Op: fastplane.OpIncrement, Store: r.Store, Key: r.Key, Delta: r.Delta, TTL: time.Duration(r.InitialTtl),
	})
	return &driverpb.IncrementReply{Value: a.Number}, err
}

func (s *server) TTL(ctx context.Context, r *driverpb.KeyRequest) (*driverpb.TTLReply, error) {
	a, err := s.do(ctx, &fastplane.Request{Op: fastplane.OpTTL, Store: r.Store, Key: r.Key})
	return &driverpb.TTLReply{Found: a.Yes(), Ttl: int64(a.TTL)}, err
}

func (s *server) AcquireLease(ctx context.Context, r *driverpb.LeaseRequest) (*driverpb.LeaseReply, error) {
	return s.lease(ctx, leaseCall(fastplane.OpAcquireLease, r))
}

func (s *server) RenewLease(ctx context.Context, r *driverpb.LeaseRequest) (*driverpb.LeaseReply, error) {
	return s.lease(ctx, leaseCall(fastplane.OpRenewLease, r))
}

func (s *server) lease(ctx context.Context, r *fastplane.Request) (*driverpb.LeaseReply, error) {
	a, err := s.do(ctx, r)
	return &driverpb.LeaseReply{Ok: a.Yes(), Fence: a.Fence, Remaining: int64(a.TTL)}, err
}

func leaseCall(op fastplane.Op, r *driverpb.LeaseRequest) *fastplane.Request {
	return &fastplane.Request{
		Op:    op,
		Store: r.Store,
		Key:   r.Key,
		TTL:   time.Duration(r.Lease),
		Lease: fastplane.Lease{Strategy: r.Strategy, Owner: r.Owner, DriverClock: r.DriverClock},
	}
}

func (s *server) GetMany(ctx context.Context, r *driverpb.GetManyRequest) (*driverpb.GetManyReply, error) {
	a, err := s.do(ctx, &fastplane.Request{Op: fastplane.OpGetMany, Store: r.Store, Keys: r.Keys})
	items := make([]*driverpb.Item, len(a.Items))
	for i, item := range a.Items {
		items[i] = &driverpb.Item{Found: item.Found, Value: item.Value}
		if f := item.Failure; f != nil {
			items[i].Failure = failureMessage(*f)
		}
	}
	return &driverpb.GetManyReply{Items: items}, err
}

func (s *server) SetMany(ctx context.Context, r *driverpb.SetManyRequest) (*driverpb.SetManyReply, error) {
	entries := make([]fastplane.Entry, len(r.Entries))
	for i, e := range r.Entries {
		entries[i] = fastplane.Entry{Key: e.Key, Value: e.Value, TTL: time.Duration(e.Ttl)}
	}
	a, err := s.do(ctx, &fastplane.Request{Op: fastplane.OpSetMany, Store: r.Store, Entries: entries})
	return &driverpb.SetManyReply{Failures: failureMessages(a.Failures)}, err
}

func (s *server) DeleteMany(ctx context.Context, r *driverpb.DeleteManyRequest) (*driverpb.DeleteManyReply, error) {
	a, err := s.do(ctx, &fastplane.Request{Op: fastplane.OpDeleteMany, Store: r.Store, Keys: r.Keys})
	return &driverpb.DeleteManyReply{Existed: uint64(a.Number), Failures: failureMessages(a.Failures)}, err
}

func failureMessages(failures []fastplane.Failure) []*driverpb.Failure {
	messages := make([]*driverpb.Failure, len(failures))
	for i, f := range failures {
		messages[i] = failureMessage(f)
	}
	return messages
}

func failureMessage(f fastplane.Failure) *driverpb.Failure {
	return &driverpb.Failure{Index: uint32(f.Index), Error: f.Names, Message: f.Message}
}
