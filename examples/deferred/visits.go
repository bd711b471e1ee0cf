package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"sync/atomic"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

const (
	visitsKey = "visits"
	lifetime  = 24 * time.Hour
)

// Visits counts in the default store of a configuration.
type Visits struct {
	cache  *cache.Deferred
	opened atomic.Pointer[cache.CacheManager] // what Close has to close, if anything
}

// NewVisits opens nothing.
func NewVisits(config string) *Visits {
	v := new(Visits)
	v.cache = cache.NewDeferred(func(ctx context.Context) (*cache.CacheManager, error) {
		caches, err := cache.Open(ctx, config)
		v.opened.Store(caches) // nil where it failed
		return caches, err
	})
	return v
}

// Count adds a visit. Without a cache it answers 503, and the next one tries
// again.
func (v *Visits) Count(w http.ResponseWriter, r *http.Request) {
	caches, err := v.cache.Resolve(r.Context())
	if err != nil {
		log.Print(err)
		answer(w, http.StatusServiceUnavailable, map[string]any{"error": "there is no cache yet"})
		return
	}
	visits, err := caches.Increment(r.Context(), visitsKey, 1, cache.InitialTTL(lifetime))
	if err != nil {
		log.Print(err)
		answer(w, http.StatusInternalServerError, map[string]any{"error": "the visit was not counted"})
		return
	}
	answer(w, http.StatusOK, map[string]any{"visits": visits})
}

// Healthy needs no cache.
func (*Visits) Healthy(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"healthy": true})
}

// Close closes the cache if a request has opened it.
func (v *Visits) Close(ctx context.Context) error {
	if caches := v.opened.Load(); caches != nil {
		return caches.Close(ctx)
	}
	return nil
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
