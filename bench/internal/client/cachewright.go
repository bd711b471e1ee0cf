package client

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/bench/internal/contest"
	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin" // this program serves them, too
)

// A Store is a store of Cachewright's, through the public interface.
type Store struct{ cache.ICacheRepository }

// Get reads a value; an absent one is an error.
func (s Store) Get(ctx context.Context, key string) ([]byte, error) {
	v, err := s.ICacheRepository.Get(ctx, key)
	return v.Bytes(), err
}

// Set stores a value.
func (s Store) Set(ctx context.Context, key string, value []byte) error {
	return s.ICacheRepository.Set(ctx, key, value, TTL)
}

// GetMany is the contender that reads a batch in one call.
func (s Store) GetMany(key, title string, d Data, batch int) contest.Contender {
	return contest.Contender{Key: key, Title: title, Call: func(ctx context.Context, n int) error {
		values, err := s.ICacheRepository.GetMany(ctx, d.Window(n, batch))
		if err == nil && len(values) != batch {
			err = fmt.Errorf("%d of %d keys are answered", len(values), batch)
		}
		return err
	}}
}

// Remember is the contender whose every call finds the entry.
func (s Store) Remember(key, title string, d Data) contest.Contender {
	return contest.Contender{Key: key, Title: title, Call: func(ctx context.Context, n int) error {
		v, err := s.ICacheRepository.Remember(ctx, d.Key(n), TTL, neverResolved)
		return d.check(v.Bytes(), err)
	}}
}

func neverResolved(context.Context) (any, error) { return nil, errMissing }

// Increment is the contender that counts, on sixteen counters.
func (s Store) Increment(key, title string) contest.Contender {
	d := NewData("counter", 16, 0)
	return contest.Contender{Key: key, Title: title, Call: func(ctx context.Context, n int) error {
		_, err := s.ICacheRepository.Increment(ctx, d.Key(n), 1)
		return err
	}}
}

// Exclusive is a lock under the strategy exclusive.
func (s Store) Exclusive(key string) Lock {
	lock := s.ICacheRepository.(cache.Locker).Lock(key, cache.LockStrategy("exclusive"), cache.LockWait(time.Minute))
	return lock.Do
}
