package memory

import (
	"context"

	"github.com/cachewright/cachewright/sdk"
)

// GetMany implements sdk.Batcher.
func (s *store) GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	found := make([]sdk.Lookup, len(keys))
	for i, key := range keys {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found[i].Value, found[i].OK, found[i].Err = s.Get(ctx, key)
	}
	return found, nil
}

// SetMany implements sdk.Batcher.
func (s *store) SetMany(ctx context.Context, entries []sdk.Entry) error {
	var failed []sdk.KeyError
	for _, e := range entries {
		err := ctx.Err()
		if err == nil {
			err = s.Set(ctx, e.Key, e.Value, e.TTL)
		}
		if err != nil {
			failed = append(failed, sdk.KeyError{Key: e.Key, Err: err})
		}
	}
	if len(failed) > 0 {
		return &sdk.BatchError{Failed: failed}
	}
	return nil
}

// DeleteMany implements sdk.Batcher.
func (s *store) DeleteMany(ctx context.Context, keys []string) (existed int, err error) {
	var failed []sdk.KeyError
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			failed = append(failed, sdk.KeyError{Key: key, Err: err})
			continue
		}
		if ok, _ := s.Delete(ctx, key); ok {
			existed++
		}
	}
	if len(failed) > 0 {
		return existed, &sdk.BatchError{Failed: failed}
	}
	return existed, nil
}
