package redis

import (
	"context"
	"errors"

	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

const (
	// batchBytes is about how much goes out, or comes back, as one pipeline.
	batchBytes = 4 << 20
	// batchKeys is how many keys one command names at most, so that it doesn't
	// keep the server from others for long.
	batchKeys = 512
	// firstKeys is how many are asked for while the size of values is unknown.
	firstKeys = 128
	// answerBytes is where GetMany stops.
	answerBytes = 16 << 20
)

// GetMany implements sdk.Batcher. A key that holds another type of Redis is a
// miss.
func (s *store) GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	found := make([]sdk.Lookup, 0, len(keys))
	size, step := 0, firstKeys
	for len(found) < len(keys) && size < answerBytes {
		some := s.getSome(ctx, keys[len(found):min(len(found)+step, len(keys))])
		if err := ctx.Err(); err != nil && len(found) == 0 {
			return nil, err
		}
		for _, l := range some {
			size += len(l.Value)
		}
		found = append(found, some...)
		step = min(batchKeys, max(1, batchBytes/(size/len(found)+1)))
	}
	return found, nil
}

func (s *store) getSome(ctx context.Context, keys []string) []sdk.Lookup {
	if s.nodes == nil {
		return s.getTogether(ctx, keys)
	}
	calls := make([]call, len(keys))
	for i, key := range keys {
		calls[i] = call{key: key, cmd: redis.NewStringCmd(ctx, "get", key), repeat: reads}
	}
	found := make([]sdk.Lookup, len(keys))
	for i, err := range s.doMany(ctx, calls) {
		cmd := calls[i].cmd.(*redis.StringCmd)
		switch {
		case errors.Is(err, sdk.ErrCorrupt):
		case err != nil:
			found[i].Err = err
		case cmd.Err() == nil:
			found[i].Value, _ = cmd.Bytes()
			found[i].OK = true
		}
	}
	return found
}

// getTogether asks with one command, where no key is on another server.
func (s *store) getTogether(ctx context.Context, keys []string) []sdk.Lookup {
	found := make([]sdk.Lookup, len(keys))
	cmd := redis.NewSliceCmd(ctx, command("mget", keys)...)
	err := s.do(ctx, call{key: keys[0], cmd: cmd, repeat: reads, apart: true})
	for i := range found {
		if err != nil {
			found[i].Err = err
		} else if text, ok := cmd.Val()[i].(string); ok {
			found[i] = sdk.Lookup{Value: []byte(text), OK: true}
		}
	}
	return found
}

func command(name string, keys []string) []any {
	args := make([]any, 0, len(keys)+1)
	args = append(args, name)
	for _, key := range keys {
		args = append(args, key)
	}
	return args
}

// SetMany implements sdk.Batcher.
func (s *store) SetMany(ctx context.Context, entries []sdk.Entry) error {
	var failed []sdk.KeyError
	for len(entries) > 0 {
		n, size := 0, 0
		for n < len(entries) && n < batchKeys && size < batchBytes {
			size += len(entries[n].Key) + len(entries[n].Value)
			n++
		}
		failed = append(failed, s.setSome(ctx, entries[:n])...)
		entries = entries[n:]
	}
	if len(failed) > 0 {
		return &sdk.BatchError{Failed: failed}
	}
	return nil
}

func (s *store) setSome(ctx context.Context, entries []sdk.Entry) (failed []sdk.KeyError) {
	calls := make([]call, 0, len(entries))
	for _, e := range entries {
		if err := fits(e.Value); err != nil {
			failed = append(failed, sdk.KeyError{Key: e.Key, Err: err})
			continue
		}
		calls = append(calls, call{key: e.Key, cmd: setCommand(ctx, e.Key, e.Value, e.TTL, ""), repeat: again})
	}
	for i, err := range s.doMany(ctx, calls) {
		if err != nil {
			failed = append(failed, sdk.KeyError{Key: calls[i].key, Err: err})
		}
	}
	return failed
}

// DeleteMany implements sdk.Batcher.
func (s *store) DeleteMany(ctx context.Context, keys []string) (existed int, err error) {
	var failed []sdk.KeyError
	for len(keys) > 0 {
		n := min(len(keys), batchKeys)
		some, errs := s.unlink(ctx, keys[:n])
		existed += some
		failed = append(failed, errs...)
		keys = keys[n:]
	}
	if len(failed) > 0 {
		return existed, &sdk.BatchError{Failed: failed}
	}
	return existed, nil
}

// unlink removes keys: with one command where none is on another server.
func (s *store) unlink(ctx context.Context, keys []string) (existed int, failed []sdk.KeyError) {
	var calls []call
	if s.nodes == nil {
		calls = []call{{key: keys[0], cmd: redis.NewIntCmd(ctx, command("unlink", keys)...), repeat: again}}
	} else {
		for _, key := range keys {
			calls = append(calls, call{key: key, cmd: redis.NewIntCmd(ctx, "unlink", key), repeat: again})
		}
	}
	for i, err := range s.doMany(ctx, calls) {
		if err == nil {
			existed += int(calls[i].cmd.(*redis.IntCmd).Val())
			continue
		}
		named := []string{calls[i].key}
		if s.nodes == nil {
			named = keys
		}
		for _, key := range named {
			failed = append(failed, sdk.KeyError{Key: key, Err: err})
		}
	}
	return existed, failed
}
