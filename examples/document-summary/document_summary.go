package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

const (
	summaryKey = "documents:summary"
	buildKey   = "documents:summary:build"
	buildWait  = 3 * time.Second
	lifetime   = 60 * time.Second
)

// A Summary is a folder tree in figures.
type Summary struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// A DocumentSummary serves the summary of Dir from the file store.
type DocumentSummary struct {
	Cache *cache.Deferred
	Dir   string
}

// Show answers with the summary, or with 503 while another request takes too
// long to make it.
func (d *DocumentSummary) Show(w http.ResponseWriter, r *http.Request) {
	summary, err := d.summary(r.Context())
	switch {
	case errors.Is(err, cache.ErrLockTimeout):
		answer(w, http.StatusServiceUnavailable, map[string]any{"error": "the summary is being made"})
	case err != nil:
		answer(w, http.StatusInternalServerError, map[string]any{"error": "there is no summary"})
	default:
		answer(w, http.StatusOK, summary)
	}
}

// summary is the double check: a hit costs no lock; a miss looks again under
// the lock before it scans.
func (d *DocumentSummary) summary(ctx context.Context) (Summary, error) {
	caches, err := d.Cache.Resolve(ctx)
	if err != nil {
		return Summary{}, err
	}
	store, err := caches.Store("file")
	if err != nil {
		return Summary{}, err
	}
	summaries := cache.Of[Summary](store)
	if summary, ok, err := summaries.Get(ctx, summaryKey); ok || err != nil {
		return summary, err
	}
	lock := store.(cache.Locker).Lock(buildKey, cache.LockTimeout(buildWait))
	return cache.DoValue(ctx, lock, func(ctx context.Context) (Summary, error) {
		return summaries.Remember(ctx, summaryKey, lifetime, d.scan)
	})
}

func (d *DocumentSummary) scan(ctx context.Context) (Summary, error) {
	var s Summary
	err := filepath.WalkDir(d.Dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return errors.Join(err, ctx.Err())
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		s.Files++
		s.Bytes += info.Size()
		return ctx.Err()
	})
	return s, err
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
