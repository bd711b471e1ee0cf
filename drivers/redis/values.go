package redis

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

// large is the size from which a value has a connection of its own, so that
// small ones don't wait for it.
const large = 32 << 10

// Get implements sdk.Store.
func (s *store) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	return s.read(ctx, redis.NewStringCmd(ctx, "get", key), call{key: key, repeat: reads, apart: s.large.has(key)})
}

func (s *store) read(ctx context.Context, cmd *redis.StringCmd, c call) (value []byte, ok bool, err error) {
	c.cmd = cmd
	if err := s.do(ctx, c); err != nil {
		return nil, false, err
	}
	value, err = cmd.Bytes()
	if err != nil { // redis.Nil
		return nil, false, nil
	}
	s.large.note(c.key, len(value), c.apart)
	return value, true, nil
}

// Set implements sdk.Store.
func (s *store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := s.write(ctx, key, value, ttl, again, "")
	return err
}

// Add implements sdk.Adder.
func (s *store) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (added bool, err error) {
	return s.write(ctx, key, value, ttl, once, "nx")
}

// Replace implements sdk.Replacer.
func (s *store) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error) {
	return s.write(ctx, key, value, ttl, once, "xx")
}

func (s *store) write(ctx context.Context, key string, value []byte, ttl time.Duration, r repeat, condition string) (written bool, err error) {
	if err := fits(value); err != nil {
		return false, err
	}
	cmd := setCommand(ctx, key, value, ttl, condition)
	if err := s.do(ctx, call{key: key, cmd: cmd, repeat: r, apart: len(value) >= large}); err != nil {
		return false, err
	}
	return cmd.Err() == nil, nil // else redis.Nil: the condition did not hold
}

func setCommand(ctx context.Context, key string, value []byte, ttl time.Duration, condition string) *redis.StatusCmd {
	args := append(make([]any, 0, 6), "set", key, value)
	if condition != "" {
		args = append(args, condition)
	}
	if ttl != sdk.NoExpiry {
		args = append(args, "px", milliseconds(ttl))
	}
	return redis.NewStatusCmd(ctx, args...)
}

func fits(value []byte) error {
	if len(value) > maxValue {
		return fmt.Errorf("%w: %d bytes; the most is %d", sdk.ErrTooLarge, len(value), maxValue)
	}
	return nil
}

// milliseconds rounds up.
func milliseconds(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// Pull implements sdk.Puller.
func (s *store) Pull(ctx context.Context, key string) (value []byte, ok bool, err error) {
	return s.read(ctx, redis.NewStringCmd(ctx, "getdel", key), call{key: key, repeat: once, apart: s.large.has(key)})
}

// Delete implements sdk.Store.
func (s *store) Delete(ctx context.Context, key string) (existed bool, err error) {
	cmd := redis.NewIntCmd(ctx, "unlink", key)
	if err := s.do(ctx, call{key: key, cmd: cmd, repeat: again}); err != nil {
		return false, err
	}
	return cmd.Val() > 0, nil
}

// CompareDelete implements sdk.CompareDeleter.
func (s *store) CompareDelete(ctx context.Context, key string, value []byte) (deleted bool, err error) {
	n, err := s.run(ctx, compareDelete, call{key: key, repeat: again, apart: len(value) >= large}, value)
	if err != nil {
		return false, err
	}
	return n == int64(1), nil
}

// Increment implements sdk.Counter.
func (s *store) Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
	c := call{key: key, repeat: once}
	if initialTTL != sdk.NoExpiry {
		sum, err := s.run(ctx, increment, c, delta, milliseconds(initialTTL))
		if err != nil {
			return 0, counted(err)
		}
		return parseSum(sum)
	}
	cmd := redis.NewIntCmd(ctx, "incrby", key, delta)
	c.cmd = cmd
	if err := s.do(ctx, c); err != nil {
		return 0, counted(err)
	}
	return cmd.Val(), nil
}

// counted calls what is no string no integer.
func counted(err error) error {
	if errors.Is(err, sdk.ErrCorrupt) {
		return fmt.Errorf("%w: the key holds another type of Redis than a string", sdk.ErrNotInteger)
	}
	return err
}

func parseSum(answer any) (int64, error) {
	text, _ := answer.(string)
	sum, ok := sdk.ParseInteger([]byte(text))
	if !ok {
		return 0, fmt.Errorf("%w: the increment was executed, but its sum is unreadable", sdk.ErrMaybeApplied)
	}
	return sum, nil
}

// TTL implements sdk.Inspector.
func (s *store) TTL(ctx context.Context, key string) (ttl time.Duration, ok bool, err error) {
	cmd := redis.NewIntCmd(ctx, "pttl", key)
	if err := s.do(ctx, call{key: key, cmd: cmd, repeat: reads}); err != nil {
		return 0, false, err
	}
	const none, absent = -1, -2
	switch left := cmd.Val(); left {
	case absent:
		return 0, false, nil
	case none:
		return sdk.NoExpiry, true, nil
	default: // it never means for ever
		return time.Duration(min(max(left, 1), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, true, nil
	}
}

// Touch implements sdk.Inspector.
func (s *store) Touch(ctx context.Context, key string, ttl time.Duration) (touched bool, err error) {
	c := call{key: key, repeat: again}
	if ttl == sdk.NoExpiry {
		n, err := s.run(ctx, persist, c)
		return n == int64(1), err
	}
	cmd := redis.NewIntCmd(ctx, "pexpire", key, milliseconds(ttl))
	c.cmd = cmd
	if err := s.do(ctx, c); err != nil {
		return false, err
	}
	return cmd.Val() > 0, nil
}

// Ping implements sdk.Pinger.
func (s *store) Ping(ctx context.Context) error {
	return s.do(ctx, call{key: "ping", cmd: redis.NewStatusCmd(ctx, "ping"), repeat: reads})
}

// largeKeys remembers keys whose value was large when it was last read. It may
// forget some, or take one for another: that costs only speed.
type largeKeys [1024]atomic.Uint64

var seed = maphash.MakeSeed()

func (l *largeKeys) place(key string) (hash uint64, at *atomic.Uint64) {
	hash = maphash.String(seed, key) | 1
	return hash, &l[hash/2%uint64(len(l))]
}

func (l *largeKeys) has(key string) bool {
	hash, at := l.place(key)
	return at.Load() == hash
}

func (l *largeKeys) note(key string, size int, known bool) {
	if is := size >= large; is != known {
		hash, at := l.place(key)
		if is {
			at.Store(hash)
		} else {
			at.CompareAndSwap(hash, 0)
		}
	}
}
