package host

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
	"github.com/cachewright/cachewright/sdk"
)

// A wireStore is a store that a conn opened, under its number in the driver's
// process. Once that process is gone every call fails with a *transportError,
// or, over a connection that found a new process, with wire.ErrNotOpen.
type wireStore struct {
	conn         conn
	plane        *fastplane.Client // nil where there is none
	suspect      func()            // has somebody look after the process; set where plane is
	number       uint64
	traits       sdk.Traits
	capabilities sdk.Capabilities
}

var _ Store = (*wireStore)(nil)

func (s *wireStore) Traits() sdk.Traits { return s.traits }

func (s *wireStore) Capabilities() sdk.Capabilities { return s.capabilities }

func (s *wireStore) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	return s.value(ctx, reads, fastplane.OpGet, key)
}

func (s *wireStore) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := s.put(ctx, fastplane.OpSet, key, value, ttl)
	return err
}

func (s *wireStore) Delete(ctx context.Context, key string) (existed bool, err error) {
	a, err := s.one(ctx, writes, &fastplane.Request{Op: fastplane.OpDelete, Key: key})
	return a.Yes(), err
}

func (s *wireStore) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (added bool, err error) {
	return s.put(ctx, fastplane.OpAdd, key, value, ttl)
}

func (s *wireStore) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error) {
	return s.put(ctx, fastplane.OpReplace, key, value, ttl)
}

func (s *wireStore) Pull(ctx context.Context, key string) (value []byte, ok bool, err error) {
	return s.value(ctx, takes, fastplane.OpPull, key)
}

func (s *wireStore) Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
	a, err := s.one(ctx, writes, &fastplane.Request{Op: fastplane.OpIncrement, Key: key, Delta: delta, TTL: initialTTL})
	return a.Number, err
}

func (s *wireStore) CompareDelete(ctx context.Context, key string, value []byte) (deleted bool, err error) {
	return s.put(ctx, fastplane.OpCompareDelete, key, value, 0)
}

func (s *wireStore) TTL(ctx context.Context, key string) (ttl time.Duration, ok bool, err error) {
	a, err := s.one(ctx, reads, &fastplane.Request{Op: fastplane.OpTTL, Key: key})
	return a.TTL, a.Yes(), err
}

func (s *wireStore) Touch(ctx context.Context, key string, ttl time.Duration) (touched bool, err error) {
	a, err := s.one(ctx, writes, &fastplane.Request{Op: fastplane.OpTouch, Key: key, TTL: ttl})
	return a.Yes(), err
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

func (s *wireStore) value(ctx context.Context, e effect, op fastplane.Op, key string) (value []byte, ok bool, err error) {
	a, err := s.one(ctx, e, &fastplane.Request{Op: op, Key: key})
	return a.Value, a.Yes(), err
}

func (s *wireStore) put(ctx context.Context, op fastplane.Op, key string, value []byte, ttl time.Duration) (done bool, err error) {
	if err := checkEntry(key, value); err != nil {
		return false, err
	}
	a, err := s.do(ctx, writes, &fastplane.Request{Op: op, Key: key, Value: value, TTL: ttl})
	return a.Yes(), err
}

// one makes a call on one key.
func (s *wireStore) one(ctx context.Context, e effect, r *fastplane.Request) (fastplane.Answer, error) {
	if err := checkKey(r.Key); err != nil {
		return fastplane.Answer{}, err
	}
	return s.do(ctx, e, r)
}

// do makes a call of the data path, over whichever plane there is. An answer
// that comes with an error is empty.
func (s *wireStore) do(ctx context.Context, e effect, r *fastplane.Request) (fastplane.Answer, error) {
	r.Store = s.number
	if s.plane != nil {
		return s.overPlane(ctx, e, r)
	}
	return s.overGRPC(ctx, e, r)
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
