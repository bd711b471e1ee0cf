package host

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
	"github.com/cachewright/cachewright/sdk"
)

// A wireStore is a store that a conn opened, under its number in the driver's
// process. Once that process is gone every call fails with a *transportError,
// or, over a connection that found a new process, with wire.ErrNotOpen.
type wireStore struct {
	conn         conn
	number       uint64
	traits       sdk.Traits
	capabilities sdk.Capabilities
}

var _ Store = (*wireStore)(nil)

func (s *wireStore) Traits() sdk.Traits { return s.traits }

func (s *wireStore) Capabilities() sdk.Capabilities { return s.capabilities }

func (s *wireStore) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	return s.value(ctx, reads, driverpb.Driver_Get_FullMethodName, key)
}

func (s *wireStore) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	in, err := s.setRequest(key, value, ttl)
	if err != nil {
		return err
	}
	return s.conn.call(ctx, writes, driverpb.Driver_Set_FullMethodName, in, new(driverpb.Empty))
}

func (s *wireStore) Delete(ctx context.Context, key string) (existed bool, err error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	in := &driverpb.KeyRequest{Store: s.number, Key: key}
	var out driverpb.BoolReply
	err = s.conn.call(ctx, writes, driverpb.Driver_Delete_FullMethodName, in, &out)
	return out.Ok, err
}

func (s *wireStore) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (added bool, err error) {
	return s.put(ctx, driverpb.Driver_Add_FullMethodName, key, value, ttl)
}

func (s *wireStore) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error) {
	return s.put(ctx, driverpb.Driver_Replace_FullMethodName, key, value, ttl)
}

func (s *wireStore) Pull(ctx context.Context, key string) (value []byte, ok bool, err error) {
	return s.value(ctx, takes, driverpb.Driver_Pull_FullMethodName, key)
}

func (s *wireStore) Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	in := &driverpb.IncrementRequest{Store: s.number, Key: key, Delta: delta, InitialTtl: int64(initialTTL)}
	var out driverpb.IncrementReply
	err := s.conn.call(ctx, writes, driverpb.Driver_Increment_FullMethodName, in, &out)
	return out.Value, err
}

func (s *wireStore) CompareDelete(ctx context.Context, key string, value []byte) (deleted bool, err error) {
	if err := checkEntry(key, value); err != nil {
		return false, err
	}
	in := &driverpb.CompareDeleteRequest{Store: s.number, Key: key, Value: value}
	var out driverpb.BoolReply
	err = s.conn.call(ctx, writes, driverpb.Driver_CompareDelete_FullMethodName, in, &out)
	return out.Ok, err
}

func (s *wireStore) TTL(ctx context.Context, key string) (ttl time.Duration, ok bool, err error) {
	if err := checkKey(key); err != nil {
		return 0, false, err
	}
	in := &driverpb.KeyRequest{Store: s.number, Key: key}
	var out driverpb.TTLReply
	err = s.conn.call(ctx, reads, driverpb.Driver_TTL_FullMethodName, in, &out)
	return time.Duration(out.Ttl), out.Found, err
}

func (s *wireStore) Touch(ctx context.Context, key string, ttl time.Duration) (touched bool, err error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	in := &driverpb.TouchRequest{Store: s.number, Key: key, Ttl: int64(ttl)}
	var out driverpb.BoolReply
	err = s.conn.call(ctx, writes, driverpb.Driver_Touch_FullMethodName, in, &out)
	return out.Ok, err
}

func (s *wireStore) Keys(ctx context.Context, prefix string, cursor []byte, limit int) (keys []string, next []byte, err error) {
	if err := checkText(prefix); err != nil {
		return nil, nil, err
	}
	in := &driverpb.KeysRequest{Store: s.number, Prefix: prefix, Cursor: cursor, Limit: uint32(max(0, min(limit, wire.MaxBatchKeys)))}
	var out driverpb.KeysReply
	err = s.conn.call(ctx, reads, driverpb.Driver_Keys_FullMethodName, in, &out)
	return out.Keys, out.Next, err
}

func (s *wireStore) Clear(ctx context.Context, prefix string, cursor []byte) (next []byte, removed int, err error) {
	if err := checkText(prefix); err != nil {
		return nil, 0, err
	}
	in := &driverpb.ClearRequest{Store: s.number, Prefix: prefix, Cursor: cursor}
	var out driverpb.ClearReply
	err = s.conn.call(ctx, writes, driverpb.Driver_Clear_FullMethodName, in, &out)
	return out.Next, int(out.Removed), err
}

func (s *wireStore) Ping(ctx context.Context) error {
	in := &driverpb.StoreRequest{Store: s.number}
	return s.conn.call(ctx, reads, driverpb.Driver_Ping_FullMethodName, in, new(driverpb.Empty))
}

func (s *wireStore) Stats(ctx context.Context) ([]sdk.Stat, error) {
	in := &driverpb.StoreRequest{Store: s.number}
	var out driverpb.StatsReply
	if err := s.conn.call(ctx, reads, driverpb.Driver_Stats_FullMethodName, in, &out); err != nil {
		return nil, err
	}
	stats := make([]sdk.Stat, len(out.Stats))
	for i, stat := range out.Stats {
		stats[i] = sdk.Stat{Name: stat.Name, Value: stat.Value, Warning: stat.Warning}
	}
	return stats, nil
}

// Close closes the store in the driver's process. One that the process does not
// know is closed already.
func (s *wireStore) Close(ctx context.Context) error {
	in := &driverpb.StoreRequest{Store: s.number}
	err := s.conn.call(ctx, reads, driverpb.Driver_Close_FullMethodName, in, new(driverpb.Empty))
	if errors.Is(err, wire.ErrNotOpen) {
		return nil
	}
	return err
}

func (s *wireStore) value(ctx context.Context, e effect, method, key string) (value []byte, ok bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, err
	}
	in := &driverpb.KeyRequest{Store: s.number, Key: key}
	var out driverpb.ValueReply
	if err := s.conn.call(ctx, e, method, in, &out); err != nil {
		return nil, false, err
	}
	return valueFrom(out.Found, out.Value), out.Found, nil
}

func (s *wireStore) put(ctx context.Context, method, key string, value []byte, ttl time.Duration) (done bool, err error) {
	in, err := s.setRequest(key, value, ttl)
	if err != nil {
		return false, err
	}
	var out driverpb.BoolReply
	err = s.conn.call(ctx, writes, method, in, &out)
	return out.Ok, err
}

func (s *wireStore) setRequest(key string, value []byte, ttl time.Duration) (*driverpb.SetRequest, error) {
	if err := checkEntry(key, value); err != nil {
		return nil, err
	}
	return &driverpb.SetRequest{Store: s.number, Key: key, Value: value, Ttl: int64(ttl)}, nil
}

// checkKey refuses a key that no message can carry. What else a key must be is
// checked before it gets here.
func checkKey(key string) error {
	if !utf8.ValidString(key) {
		return fmt.Errorf("%w: %q is not valid UTF-8", wire.ErrInvalidKey, key)
	}
	return nil
}

func checkText(prefix string) error {
	if !utf8.ValidString(prefix) {
		return fmt.Errorf("%w: the prefix %q is not valid UTF-8", wire.ErrInvalidKey, prefix)
	}
	return nil
}

func checkEntry(key string, value []byte) error {
	if len(value) > wire.MaxValue {
		return fmt.Errorf("%w: %d bytes, and a message to a driver carries at most %d", wire.ErrTooLarge, len(value), wire.MaxValue)
	}
	return checkKey(key)
}
