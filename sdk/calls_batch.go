package sdk

import (
	"context"
	"errors"
	"fmt"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
)

func doMany(ctx context.Context, in *Instance, r *fastplane.Request) (a fastplane.Answer, err error) {
	a.Say(true)
	switch r.Op {
	case fastplane.OpGetMany:
		a.Items, err = getMany(ctx, in, r.Keys)
	case fastplane.OpSetMany:
		a.Failures, err = setMany(ctx, in, r.Entries)
	default:
		var existed int
		existed, a.Failures, err = deleteMany(ctx, in, r.Keys)
		a.Number = int64(max(0, existed))
	}
	return a, err
}

// getMany answers the first of the keys, as many as a message takes.
func getMany(ctx context.Context, in *Instance, keys []string) ([]fastplane.Item, error) {
	keys = keys[:min(len(keys), wire.MaxBatchKeys)]
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	answers, err := in.getSome(ctx, keys)
	if err != nil {
		return nil, err
	}
	items := make([]fastplane.Item, len(answers))
	for i, found := range answers {
		items[i] = itemOf(i, found)
	}
	return items, nil
}

func itemOf(index int, found Lookup) fastplane.Item {
	if err := joined(found.Err, checkSize(found.Value)); err != nil {
		f := failureOf(index, err)
		return fastplane.Item{Failure: &f}
	}
	return fastplane.Item{Found: found.OK, Value: found.Value}
}

func setMany(ctx context.Context, in *Instance, given []fastplane.Entry) ([]fastplane.Failure, error) {
	keys := make([]string, len(given))
	entries := make([]Entry, len(given))
	for i, e := range given {
		if e.TTL < 0 {
			return nil, fmt.Errorf("%w: that of %q is negative", wire.ErrInvalidTTL, e.Key)
		}
		keys[i] = e.Key
		entries[i] = Entry(e)
	}
	if err := errors.Join(checkNumber(len(keys)), checkKeys(keys)); err != nil {
		return nil, err
	}
	return failuresOf(keys, in.SetMany(ctx, entries))
}

func deleteMany(ctx context.Context, in *Instance, keys []string) (int, []fastplane.Failure, error) {
	if err := errors.Join(checkNumber(len(keys)), checkKeys(keys)); err != nil {
		return 0, nil, err
	}
	existed, err := in.DeleteMany(ctx, keys)
	failures, err := failuresOf(keys, err)
	return existed, failures, err
}

func checkKeys(keys []string) error {
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
	}
	return nil
}

// checkNumber refuses a batch whose failures might not fit the answer.
func checkNumber(n int) error {
	if n > wire.MaxBatchKeys {
		return fmt.Errorf("%w: a message of %d keys, and %d are the most", ErrTooLarge, n, wire.MaxBatchKeys)
	}
	return nil
}

// failuresOf splits the failures of single keys from a failure of all, which it
// returns as it came.
func failuresOf(keys []string, err error) ([]fastplane.Failure, error) {
	batch, ok := errors.AsType[*BatchError](err)
	if !ok {
		return nil, err
	}
	place := make(map[string]int, len(keys))
	for i, key := range keys {
		place[key] = i
	}
	failures := make([]fastplane.Failure, len(batch.Failed))
	for i, f := range batch.Failed {
		at, known := place[f.Key]
		if !known {
			return nil, err // the store speaks of keys that it was not given
		}
		failures[i] = failureOf(at, f.Err)
	}
	return failures, nil
}

func failureOf(index int, err error) fastplane.Failure {
	e := wire.Encode(err)
	return fastplane.Failure{Index: index, Names: e.Names(), Message: e.Message}
}
