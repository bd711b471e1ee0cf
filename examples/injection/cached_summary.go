package main

import (
	"context"
	"fmt"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

const (
	valueKey  = "summary:value"
	buildKey  = "summary:build"
	buildWait = 3 * time.Second
	lifetime  = 60 * time.Second
)

// A Summary is what all orders come to.
type Summary struct {
	Orders int `json:"orders"`
	Amount int `json:"amount"`
}

// A CachedSummary keeps a summary in the file store of whatever manager it is
// given.
type CachedSummary struct {
	caches cache.ICacheManager
}

// NewCachedSummary injects the manager.
func NewCachedSummary(caches cache.ICacheManager) *CachedSummary {
	return &CachedSummary{caches}
}

// Get returns the summary, and resolves it under a lock where there is none.
//
// The contract of a repository has no Lock, since not everything that stores
// values can lock. The repositories of a real manager are Lockers; a double
// that isn't is an error here, and not a block that runs unprotected.
func (s *CachedSummary) Get(ctx context.Context, resolve func(context.Context) (Summary, error)) (Summary, error) {
	repository, err := s.caches.Store("file")
	if err != nil {
		return Summary{}, err
	}
	locker, ok := repository.(cache.Locker)
	if !ok {
		return Summary{}, fmt.Errorf("the repository %s, a %T, has no locks", repository.Name(), repository)
	}
	lock := locker.Lock(buildKey, cache.LockTimeout(buildWait))
	return cache.DoValue(ctx, lock, func(ctx context.Context) (Summary, error) {
		return cache.Of[Summary](repository).Remember(ctx, valueKey, lifetime, resolve)
	})
}
