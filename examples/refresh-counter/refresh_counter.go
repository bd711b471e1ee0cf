package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

const (
	lockKey  = "reports:refresh-counter"
	countKey = "reports:refresh-count"
	lockWait = 2 * time.Second
	lifetime = 60 * time.Second
)

// A RefreshCounter serves the counter of the file store.
type RefreshCounter struct {
	Cache *cache.Deferred
}

// Refresh adds one and answers with the new count. While others hold the lock
// for too long it answers 503, and asks to come back.
func (c *RefreshCounter) Refresh(w http.ResponseWriter, r *http.Request) {
	count, err := c.refresh(r.Context())
	switch {
	case errors.Is(err, cache.ErrLockTimeout):
		w.Header().Set("Retry-After", "2")
		answer(w, http.StatusServiceUnavailable, map[string]any{"error": "another refresh is under way; try again later"})
	case err != nil:
		answer(w, http.StatusInternalServerError, map[string]any{"error": "the counter can't be reached"})
	default:
		answer(w, http.StatusOK, map[string]any{"refreshes": count})
	}
}

func (c *RefreshCounter) refresh(ctx context.Context) (int, error) {
	caches, err := c.Cache.Resolve(ctx)
	if err != nil {
		return 0, err
	}
	store, err := caches.Store("file")
	if err != nil {
		return 0, err
	}
	counts := cache.Of[int](store)
	lock := store.(cache.Locker).Lock(lockKey, cache.LockTimeout(lockWait))
	return cache.DoValue(ctx, lock, func(ctx context.Context) (int, error) {
		count, _, err := counts.Get(ctx, countKey)
		if err != nil {
			return 0, err
		}
		return count + 1, counts.Set(ctx, countKey, count+1, lifetime)
	})
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
