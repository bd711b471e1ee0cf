package host

import (
	"context"
	"fmt"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// GetMany sends as many keys as a message takes and asks again for those that
// an answer left out. A message that fails is a failure of the whole.
func (s *wireStore) GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return nil, err
		}
	}
	answers := make([]sdk.Lookup, 0, len(keys))
	for len(answers) < len(keys) {
		rest := keys[len(answers):]
		some, err := s.getSome(ctx, rest[:fitting(rest, keySize)])
		if err != nil {
			return nil, err
		}
		answers = append(answers, some...)
	}
	return answers, nil
}

func (s *wireStore) getSome(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	a, err := s.do(ctx, reads, &fastplane.Request{Op: fastplane.OpGetMany, Keys: keys})
	if err != nil {
		return nil, err
	}
	if len(a.Items) == 0 || len(a.Items) > len(keys) {
		return nil, fmt.Errorf("%w: asked for %d keys, the driver answered %d", wire.ErrInternal, len(keys), len(a.Items))
	}
	answers := make([]sdk.Lookup, len(a.Items))
	for i := range a.Items {
		answers[i] = lookupFrom(&a.Items[i])
	}
	return answers, nil
}

func lookupFrom(item *fastplane.Item) sdk.Lookup {
	if item.Failure != nil {
		return sdk.Lookup{Err: item.Failure.Err()}
	}
	return sdk.Lookup{Value: item.Value, OK: item.Found}
}

// SetMany stores the entries, in several messages where one does not take them,
// and stops at a message that fails as a whole. Where others had succeeded
// before it, an *sdk.BatchError names the keys of that message, and the keys
// that were not sent; else its error speaks of all.
func (s *wireStore) SetMany(ctx context.Context, entries []sdk.Entry) error {
	b := batch[sdk.Entry]{
		key:   func(e sdk.Entry) string { return e.Key },
		size:  func(e sdk.Entry) int { return len(e.Key) + len(e.Value) },
		check: func(e sdk.Entry) error { return checkEntry(e.Key, e.Value) },
		send: func(some []sdk.Entry) ([]fastplane.Failure, error) {
			entries := make([]fastplane.Entry, len(some))
			for i, e := range some {
				entries[i] = fastplane.Entry(e)
			}
			a, err := s.do(ctx, writes, &fastplane.Request{Op: fastplane.OpSetMany, Entries: entries})
			return a.Failures, err
		},
	}
	return b.run(ctx, entries)
}

// DeleteMany removes the keys; it splits and fails as SetMany does. The count is
// right for the keys that did not fail.
func (s *wireStore) DeleteMany(ctx context.Context, keys []string) (existed int, err error) {
	b := batch[string]{
		key:   func(key string) string { return key },
		size:  keySize,
		check: checkKey,
		send: func(some []string) ([]fastplane.Failure, error) {
			a, err := s.do(ctx, writes, &fastplane.Request{Op: fastplane.OpDeleteMany, Keys: some})
			existed += int(a.Number)
			return a.Failures, err
		},
	}
	return existed, b.run(ctx, keys)
}

// A batch is a write of many items, in as many messages as it takes.
type batch[T any] struct {
	key   func(T) string
	size  func(T) int
	check func(T) error // what no message can carry
	send  func([]T) ([]fastplane.Failure, error)
}

func (b batch[T]) run(ctx context.Context, items []T) error {
	items, failed := b.admit(items)
	for first := true; len(items) > 0; first = false {
		n := fitting(items, b.size)
		failures, err := b.sendSome(items[:n])
		switch {
		case err != nil && first && len(failed) == 0:
			return err
		case err != nil:
			failed = b.fail(failed, items[:n], err)
			failed = b.fail(failed, items[n:], unsent(ctx, err))
			return &sdk.BatchError{Failed: failed}
		}
		failed = b.collect(failed, items[:n], failures)
		items = items[n:]
	}
	if len(failed) == 0 {
		return nil
	}
	return &sdk.BatchError{Failed: failed}
}

// admit sorts out the items that can't be sent.
func (b batch[T]) admit(items []T) (good []T, failed []sdk.KeyError) {
	good = make([]T, 0, len(items))
	for _, item := range items {
		if err := b.check(item); err != nil {
			failed = append(failed, sdk.KeyError{Key: b.key(item), Err: err})
			continue
		}
		good = append(good, item)
	}
	return good, failed
}

func (b batch[T]) fail(failed []sdk.KeyError, items []T, err error) []sdk.KeyError {
	for _, item := range items {
		failed = append(failed, sdk.KeyError{Key: b.key(item), Err: err})
	}
	return failed
}

// sendSome sends one message. A driver that reports a failure of no item says
// nothing about the others either.
func (b batch[T]) sendSome(items []T) ([]fastplane.Failure, error) {
	failures, err := b.send(items)
	for _, f := range failures {
		if err == nil && int64(f.Index) >= int64(len(items)) {
			err = fmt.Errorf("%w: %w: sent %d keys, the driver reports a failure of number %d",
				wire.ErrMaybeApplied, wire.ErrInternal, len(items), f.Index)
		}
	}
	return failures, err
}

func (b batch[T]) collect(failed []sdk.KeyError, items []T, failures []fastplane.Failure) []sdk.KeyError {
	for _, f := range failures {
		failed = append(failed, sdk.KeyError{Key: b.key(items[f.Index]), Err: f.Err()})
	}
	return failed
}

// unsent is the error of items that come after a message that failed with err.
// It does not wrap err, which may say that something was applied.
func unsent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: not sent, since an earlier part of the batch failed: %v", wire.ErrUnavailable, err)
}

// fitting is how many of the items, at least one, go into one message.
func fitting[T any](items []T, size func(T) int) int {
	bytes := 0
	for i, item := range items {
		if bytes += size(item); i > 0 && bytes > wire.MaxBatch || i == wire.MaxBatchKeys {
			return i
		}
	}
	return len(items)
}

func keySize(key string) int { return len(key) }
