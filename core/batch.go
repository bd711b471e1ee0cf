package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// GetMany is ICacheRepository's: one hop, and one backend round trip where the
// backend has one.
func (r *CacheRepository) GetMany(ctx context.Context, keys []string) (map[string]Value, error) {
	if len(keys) == 0 {
		return map[string]Value{}, nil
	}
	b, err := r.beginBatch(ctx, OpGetMany, keys)
	if err != nil {
		return r.missed(ctx, b, err)
	}
	found, err := b.opened.GetMany(b.ctx, b.physical)
	values := make(map[string]Value, len(b.keys))
	var failed []sdk.KeyError
	var o Outcome
	for i, l := range found {
		data, due, ok, failure := l.Value, int64(0), l.OK, l.Err
		if failure == nil {
			data, failure = r.store.unseal(b.physical[i], data, ok)
		}
		if failure == nil {
			data, due, ok, failure = current(data, ok)
		}
		if failure != nil {
			failed = append(failed, sdk.KeyError{Key: b.physical[i], Err: failure})
			continue
		}
		values[b.keys[i]] = r.value(b.keys[i], data, due, ok)
		o.Hits += count(ok)
		o.Bytes += len(data)
	}
	if err == nil && len(failed) > 0 {
		err = &sdk.BatchError{Failed: failed}
	}
	o.Err = b.named(err)
	err = b.end(o)
	if err == nil {
		r.fillMisses(values, b.keys)
	}
	return values, err
}

// missed answers a batch that did not begin: with misses where the store
// forgives that.
func (r *CacheRepository) missed(ctx context.Context, b batch, err error) (map[string]Value, error) {
	if err := r.store.forgive(ctx, OpGetMany, err); err != nil {
		return nil, err
	}
	values := make(map[string]Value, len(b.keys))
	r.fillMisses(values, b.keys)
	return values, nil
}

// fillMisses answers what a hook, or the store's on_error, turned into misses.
func (r *CacheRepository) fillMisses(values map[string]Value, keys []string) {
	for _, key := range keys {
		if _, ok := values[key]; !ok {
			values[key] = r.value(key, nil, 0, false)
		}
	}
}

// SetMany is ICacheRepository's.
func (r *CacheRepository) SetMany(ctx context.Context, values map[string]any, ttl time.Duration) error {
	if len(values) == 0 {
		return nil
	}
	ttl, err := r.store.lifetime(ttl)
	if err != nil {
		return r.fail(OpSetMany, "", err)
	}
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	encoded := make([]written, len(keys))
	for i, key := range keys {
		data, err := r.encode(OpSetMany, key, values[key])
		if err != nil {
			return err
		}
		encoded[i] = written{data: escaped(data), integer: isInteger(values[key])}
	}
	b, err := r.beginBatch(ctx, OpSetMany, keys)
	if err != nil {
		return err
	}
	entries, size, err := b.entries(encoded, ttl)
	if err == nil {
		err = b.opened.SetMany(b.ctx, entries)
	}
	return b.end(Outcome{Bytes: size, Err: b.named(err)})
}

// entries are values as the driver gets them, and the bytes of them all as the
// codec made them.
func (b *batch) entries(values []written, ttl time.Duration) (entries []sdk.Entry, size int, err error) {
	entries = make([]sdk.Entry, len(values))
	for i, value := range values {
		data, err := b.store.seal(b.physical[i], value)
		if err != nil {
			return nil, 0, &BatchError{map[string]error{b.keys[i]: err}}
		}
		entries[i] = sdk.Entry{Key: b.physical[i], Value: data, TTL: driverTTL(b.store.jittered(OpSetMany, ttl), b.opened.granularity)}
		size += len(value.data)
	}
	return entries, size, nil
}

// DeleteMany removes the keys and counts those that were live. It is not
// atomic: a *BatchError names the keys whose fate is unknown.
func (r *CacheRepository) DeleteMany(ctx context.Context, keys []string) (int, error) {
	if len(keys) == 0 {
		return 0, nil
	}
	b, err := r.beginBatch(ctx, OpDeleteMany, keys)
	if err != nil {
		return 0, err
	}
	existed, err := b.opened.DeleteMany(b.ctx, b.physical)
	return existed, b.end(Outcome{Err: b.named(err)})
}

// A batch is a call with many keys: as the caller gave them, without
// duplicates, and as the driver knows them.
type batch struct {
	call
	keys     []string
	physical []string
}

func (r *CacheRepository) beginBatch(ctx context.Context, op Op, keys []string) (batch, error) {
	b := batch{keys: make([]string, 0, len(keys)), physical: make([]string, 0, len(keys))}
	seen := make(map[string]bool, len(keys))
	for _, key := range keys {
		physical, err := physicalKey(r.store.prefix, key)
		if err != nil {
			return b, r.fail(op, key, err)
		}
		if !seen[key] {
			seen[key] = true
			b.keys, b.physical = append(b.keys, key), append(b.physical, physical)
		}
	}
	c, err := r.store.begin(ctx, op, "", len(b.keys))
	b.call = c
	if err != nil {
		return b, err
	}
	for i, physical := range b.physical {
		if len(physical) > c.opened.maxKey {
			c.Key = b.keys[i]
			return b, c.end(Outcome{Err: fmt.Errorf("%w: it has %d bytes with its prefix, and the store takes %d", ErrInvalidKey, len(physical), c.opened.maxKey)})
		}
	}
	return b, nil
}

// named gives the failures of a batch the caller's keys.
func (b *batch) named(err error) error {
	var failures *sdk.BatchError
	if !errors.As(err, &failures) {
		return err
	}
	given := make(map[string]string, len(b.keys))
	for i, physical := range b.physical {
		given[physical] = b.keys[i]
	}
	failed := make(map[string]error, len(failures.Failed))
	for _, f := range failures.Failed {
		key, ok := given[f.Key]
		if !ok {
			key = f.Key
		}
		failed[key] = f.Err
	}
	return &BatchError{failed}
}
