package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// A countingHook counts scans, by the sets that follow them, and locks.
type countingHook struct{ sets, locks atomic.Int64 }

func (h *countingHook) Start(ctx context.Context, c cache.Call) (context.Context, error) {
	switch c.Op {
	case cache.OpSet:
		h.sets.Add(1)
	case cache.OpLock:
		h.locks.Add(1)
	}
	return ctx, nil
}

func (*countingHook) End(_ context.Context, _ cache.Call, o cache.Outcome) error { return o.Err }

// serve runs the example over a tree of three files and a file store of its own.
func serve(t *testing.T) (url string, caches *cache.CacheManager, h *countingHook) {
	t.Helper()
	tree := t.TempDir()
	for name, text := range map[string]string{"a.txt": "12345", "deep/b.txt": "123", "deep/er/c.txt": "12"} {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h = new(countingHook)
	m, err := cache.OpenConfig(t.Context(), cache.Config{Default: "file", Stores: map[string]cache.StoreConfig{
		"file": {Driver: "file", Options: map[string]any{"path": t.TempDir()}},
	}}, cache.WithHook(h))
	if err != nil {
		t.Fatal(err)
	}
	opened := cache.NewDeferred(func(context.Context) (*cache.CacheManager, error) { return m, nil })
	server := httptest.NewServer(routes(&DocumentSummary{opened, tree}))
	t.Cleanup(func() {
		server.Close()
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server.URL, m, h
}

func get(t *testing.T, url string) (*http.Response, map[string]any) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var body map[string]any
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return response, body
}

func TestS79TheTreeIsScannedOnceForAll(t *testing.T) {
	url, caches, h := serve(t)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			response, body := get(t, url)
			for response.StatusCode == http.StatusServiceUnavailable { // a slow machine
				response, body = get(t, url)
			}
			if body["files"] != 3.0 || body["bytes"] != 10.0 {
				t.Errorf("%d: %v", response.StatusCode, body)
			}
		})
	}
	wg.Wait()
	if n := h.sets.Load(); n != 1 {
		t.Errorf("the tree was scanned %d times", n)
	}
	h.locks.Store(0)
	get(t, url)
	if n := h.locks.Load(); n != 0 {
		t.Errorf("a hit took %d locks", n)
	}
	store, _ := caches.Store("file")
	ttl, ok, err := store.(*cache.CacheRepository).TTL(t.Context(), "documents:summary")
	if !ok || err != nil || ttl <= 0 || ttl > 60*time.Second {
		t.Errorf("the summary lives for %v, %t, %v", ttl, ok, err)
	}
}

func TestS80ABusyBuildIs503WithoutRetryAfter(t *testing.T) {
	url, caches, h := serve(t)
	store, _ := caches.Store("file")
	err := store.(cache.Locker).Lock("documents:summary:build").Do(t.Context(), func(context.Context) error {
		response, body := get(t, url)
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "" || body["error"] == nil {
			t.Errorf("%d, Retry-After %q, %v", response.StatusCode, response.Header.Get("Retry-After"), body)
		}
		return nil
	})
	if err != nil || h.sets.Load() != 0 {
		t.Errorf("%v; scanned %d times", err, h.sets.Load())
	}
}
