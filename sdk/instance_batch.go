package sdk

import (
	"context"
	"fmt"

	"github.com/cachewright/cachewright/internal/wire"
)

// GetMany is Batcher's, and answers every key; duplicates are fine. A store
// that is no Batcher is asked key by key.
func (in *Instance) GetMany(ctx context.Context, keys []string) ([]Lookup, error) {
	answers := make([]Lookup, 0, len(keys))
	for len(answers) < len(keys) {
		some, err := in.getSome(ctx, keys[len(answers):])
		if err != nil {
			return nil, err
		}
		answers = append(answers, some...)
	}
	return answers, nil
}

// getSome answers the first of the keys, at least one, and stops where the
// answer would outgrow a message.
func (in *Instance) getSome(ctx context.Context, keys []string) (answers []Lookup, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if err := in.begin(ctx); err != nil {
		return nil, err
	}
	defer in.end("get-many", &err)
	unique, place := distinct(keys)
	var found []Lookup
	if in.batcher != nil {
		found, err = in.batcher.GetMany(ctx, unique)
	} else {
		found, err = in.getOneByOne(ctx, unique)
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: get-many answered none of %d keys", ErrInternal, len(unique))
	}
	size := 0
	for _, i := range place {
		if i >= len(found) {
			break
		}
		size += lookupSize(found[i])
		if len(answers) > 0 && size > wire.MaxBatch {
			break
		}
		answers = append(answers, found[i])
	}
	return answers, nil
}

// lookupSize is about what an answer takes in a message.
func lookupSize(a Lookup) int {
	if a.Err != nil {
		return wire.MaxErrorText
	}
	return len(a.Value)
}

func (in *Instance) getOneByOne(ctx context.Context, keys []string) ([]Lookup, error) {
	found := make([]Lookup, 0, len(keys))
	size := 0
	for _, key := range keys {
		value, ok, err := in.store.Get(ctx, key)
		if ctxErr := ctx.Err(); ctxErr != nil && err != nil {
			return nil, ctxErr
		}
		found = append(found, Lookup{value, ok, err})
		if size += len(value); size > wire.MaxBatch {
			break
		}
	}
	return found, nil
}

// SetMany is Batcher's; of two entries with one key the later counts.
func (in *Instance) SetMany(ctx context.Context, entries []Entry) (err error) {
	if len(entries) == 0 {
		return nil
	}
	if err := in.begin(ctx); err != nil {
		return err
	}
	defer in.endWrite("set-many", &err)
	entries = lastOfEach(entries)
	if in.batcher != nil {
		return in.batcher.SetMany(ctx, entries)
	}
	var failed []KeyError
	for _, e := range entries {
		if err := in.store.Set(ctx, e.Key, e.Value, e.TTL); err != nil {
			failed = append(failed, KeyError{e.Key, err})
		}
	}
	return batchError(failed)
}

// DeleteMany is Batcher's; duplicates count once.
func (in *Instance) DeleteMany(ctx context.Context, keys []string) (existed int, err error) {
	if len(keys) == 0 {
		return 0, nil
	}
	if err := in.begin(ctx); err != nil {
		return 0, err
	}
	defer in.endWrite("delete-many", &err)
	keys, _ = distinct(keys)
	if in.batcher != nil {
		return in.batcher.DeleteMany(ctx, keys)
	}
	var failed []KeyError
	for _, key := range keys {
		ok, err := in.store.Delete(ctx, key)
		if err != nil {
			failed = append(failed, KeyError{key, err})
		}
		if ok {
			existed++
		}
	}
	return existed, batchError(failed)
}

// batchError keeps a nil list a nil error.
func batchError(failed []KeyError) error {
	if len(failed) == 0 {
		return nil
	}
	return &BatchError{failed}
}

// distinct returns the keys without duplicates, in order of first appearance,
// and for each of keys its place among them.
func distinct(keys []string) (unique []string, place []int) {
	seen := make(map[string]int, len(keys))
	place = make([]int, len(keys))
	for i, key := range keys {
		at, ok := seen[key]
		if !ok {
			at = len(unique)
			seen[key] = at
			unique = append(unique, key)
		}
		place[i] = at
	}
	return unique, place
}

func lastOfEach(entries []Entry) []Entry {
	last := make(map[string]int, len(entries))
	for i, e := range entries {
		last[e.Key] = i
	}
	if len(last) == len(entries) {
		return entries
	}
	kept := make([]Entry, 0, len(last))
	for i, e := range entries {
		if last[e.Key] == i {
			kept = append(kept, e)
		}
	}
	return kept
}
