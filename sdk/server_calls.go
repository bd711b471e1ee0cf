package sdk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

func (s *server) Get(ctx context.Context, r *driverpb.KeyRequest) (*driverpb.ValueReply, error) {
	in, err := s.at(r.Store, r.Key)
	if err != nil {
		return nil, err
	}
	value, ok, err := in.Get(ctx, r.Key)
	return valueReply(value, ok, err)
}

func (s *server) Set(ctx context.Context, r *driverpb.SetRequest) (*driverpb.Empty, error) {
	in, err := s.writeAt(r.Store, r.Key, r.Ttl)
	if err != nil {
		return nil, err
	}
	return &driverpb.Empty{}, in.Set(ctx, r.Key, r.Value, time.Duration(r.Ttl))
}

func (s *server) Delete(ctx context.Context, r *driverpb.KeyRequest) (*driverpb.BoolReply, error) {
	in, err := s.at(r.Store, r.Key)
	if err != nil {
		return nil, err
	}
	existed, err := in.Delete(ctx, r.Key)
	return &driverpb.BoolReply{Ok: existed}, err
}

func (s *server) Add(ctx context.Context, r *driverpb.SetRequest) (*driverpb.BoolReply, error) {
	in, err := s.writeAt(r.Store, r.Key, r.Ttl)
	if err != nil {
		return nil, err
	}
	added, err := in.Add(ctx, r.Key, r.Value, time.Duration(r.Ttl))
	return &driverpb.BoolReply{Ok: added}, err
}

func (s *server) Replace(ctx context.Context, r *driverpb.SetRequest) (*driverpb.BoolReply, error) {
	in, err := s.writeAt(r.Store, r.Key, r.Ttl)
	if err != nil {
		return nil, err
	}
	replaced, err := in.Replace(ctx, r.Key, r.Value, time.Duration(r.Ttl))
	return &driverpb.BoolReply{Ok: replaced}, err
}

// Pull has removed what it can't send, and says so.
func (s *server) Pull(ctx context.Context, r *driverpb.KeyRequest) (*driverpb.ValueReply, error) {
	in, err := s.at(r.Store, r.Key)
	if err != nil {
		return nil, err
	}
	value, ok, err := in.Pull(ctx, r.Key)
	reply, tooLarge := valueReply(value, ok, err)
	if err == nil && tooLarge != nil {
		return nil, fmt.Errorf("%w: the entry was removed: %w", ErrMaybeApplied, tooLarge)
	}
	return reply, err
}

func (s *server) Increment(ctx context.Context, r *driverpb.IncrementRequest) (*driverpb.IncrementReply, error) {
	in, err := s.writeAt(r.Store, r.Key, r.InitialTtl)
	if err != nil {
		return nil, err
	}
	sum, err := in.Increment(ctx, r.Key, r.Delta, time.Duration(r.InitialTtl))
	return &driverpb.IncrementReply{Value: sum}, err
}

func (s *server) CompareDelete(ctx context.Context, r *driverpb.CompareDeleteRequest) (*driverpb.BoolReply, error) {
	in, err := s.at(r.Store, r.Key)
	if err != nil {
		return nil, err
	}
	deleted, err := in.CompareDelete(ctx, r.Key, r.Value)
	return &driverpb.BoolReply{Ok: deleted}, err
}

func (s *server) TTL(ctx context.Context, r *driverpb.KeyRequest) (*driverpb.TTLReply, error) {
	in, err := s.at(r.Store, r.Key)
	if err != nil {
		return nil, err
	}
	ttl, ok, err := in.TTL(ctx, r.Key)
	return &driverpb.TTLReply{Found: ok, Ttl: int64(ttl)}, err
}

func (s *server) Touch(ctx context.Context, r *driverpb.TouchRequest) (*driverpb.BoolReply, error) {
	in, err := s.writeAt(r.Store, r.Key, r.Ttl)
	if err != nil {
		return nil, err
	}
	touched, err := in.Touch(ctx, r.Key, time.Duration(r.Ttl))
	return &driverpb.BoolReply{Ok: touched}, err
}

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

// at finds a store for a call on key, which must be one that a store can expect.
func (s *server) at(number uint64, key string) (*Instance, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	return s.stores.find(number)
}

// writeAt is at for a call that brings a ttl.
func (s *server) writeAt(number uint64, key string, ttl int64) (*Instance, error) {
	if ttl < 0 {
		return nil, fmt.Errorf("%w: it is negative", wire.ErrInvalidTTL)
	}
	return s.at(number, key)
}

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidKey)
	case len(key) > wire.MaxKey+wire.MaxSuffix:
		return fmt.Errorf("%w: it has %d bytes, and %d are the most", ErrInvalidKey, len(key), wire.MaxKey)
	case strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("%w: it holds a NUL", ErrInvalidKey)
	}
	return nil
}

func valueReply(value []byte, ok bool, err error) (*driverpb.ValueReply, error) {
	if err = errors.Join(err, checkSize(value)); err != nil {
		return nil, err
	}
	return &driverpb.ValueReply{Found: ok, Value: value}, nil
}

// checkSize refuses a value that no message can carry; other programs may have
// stored one.
func checkSize(value []byte) error {
	if len(value) > wire.MaxValue {
		return fmt.Errorf("%w: the stored value has %d bytes, and a message carries at most %d", ErrTooLarge, len(value), wire.MaxValue)
	}
	return nil
}
