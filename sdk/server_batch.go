package sdk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/internal/wire/driverpb"
)

// GetMany answers the first of the keys, as many as a message takes.
func (s *server) GetMany(ctx context.Context, r *driverpb.GetManyRequest) (*driverpb.GetManyReply, error) {
	in, err := s.stores.find(r.Store)
	if err != nil {
		return nil, err
	}
	keys := r.Keys[:min(len(r.Keys), wire.MaxBatchKeys)]
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	answers, err := in.getSome(ctx, keys)
	return &driverpb.GetManyReply{Items: itemMessages(answers)}, err
}

func (s *server) SetMany(ctx context.Context, r *driverpb.SetManyRequest) (*driverpb.SetManyReply, error) {
	in, err := s.stores.find(r.Store)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(r.Entries))
	entries := make([]Entry, len(r.Entries))
	for i, e := range r.Entries {
		if e.Ttl < 0 {
			return nil, fmt.Errorf("%w: that of %q is negative", wire.ErrInvalidTTL, e.Key)
		}
		keys[i] = e.Key
		entries[i] = Entry{Key: e.Key, Value: e.Value, TTL: time.Duration(e.Ttl)}
	}
	if err := errors.Join(checkNumber(len(keys)), checkKeys(keys)); err != nil {
		return nil, err
	}
	failures, err := failureMessages(keys, in.SetMany(ctx, entries))
	return &driverpb.SetManyReply{Failures: failures}, err
}

func (s *server) DeleteMany(ctx context.Context, r *driverpb.DeleteManyRequest) (*driverpb.DeleteManyReply, error) {
	in, err := s.stores.find(r.Store)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkNumber(len(r.Keys)), checkKeys(r.Keys)); err != nil {
		return nil, err
	}
	existed, err := in.DeleteMany(ctx, r.Keys)
	failures, err := failureMessages(r.Keys, err)
	return &driverpb.DeleteManyReply{Existed: uint64(max(0, existed)), Failures: failures}, err
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

func itemMessages(answers []Lookup) []*driverpb.Item {
	items := make([]*driverpb.Item, len(answers))
	for i, a := range answers {
		items[i] = itemMessage(i, a)
	}
	return items
}

func itemMessage(index int, a Lookup) *driverpb.Item {
	if err := errors.Join(a.Err, checkSize(a.Value)); err != nil {
		return &driverpb.Item{Failure: failureMessage(index, err)}
	}
	return &driverpb.Item{Found: a.OK, Value: a.Value}
}

// failureMessages splits the failures of single keys from a failure of all,
// which it returns as it came.
func failureMessages(keys []string, err error) ([]*driverpb.Failure, error) {
	batch, ok := errors.AsType[*BatchError](err)
	if !ok {
		return nil, err
	}
	place := make(map[string]int, len(keys))
	for i, key := range keys {
		place[key] = i
	}
	failures := make([]*driverpb.Failure, len(batch.Failed))
	for i, f := range batch.Failed {
		at, known := place[f.Key]
		if !known {
			return nil, err // the store speaks of keys that it was not given
		}
		failures[i] = failureMessage(at, f.Err)
	}
	return failures, nil
}

func failureMessage(index int, err error) *driverpb.Failure {
	e := wire.Encode(err)
	return &driverpb.Failure{Index: uint32(index), Error: e.Names(), Message: e.Message}
}
