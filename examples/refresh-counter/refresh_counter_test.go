package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// serve runs the example over a file store of its own.
func serve(t *testing.T) (url string, caches *cache.CacheManager) {
	t.Helper()
	m, err := cache.OpenConfig(t.Context(), cache.Config{Default: "file", Stores: map[string]cache.StoreConfig{
		"file": {Driver: "file", Options: map[string]any{"path": t.TempDir()}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	opened := cache.NewDeferred(func(context.Context) (*cache.CacheManager, error) { return m, nil })
	server := httptest.NewServer(routes(&RefreshCounter{opened}))
	t.Cleanup(func() {
		server.Close()
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server.URL, m
}

func post(t *testing.T, url string) (*http.Response, map[string]any) {
	t.Helper()
	response, err := http.Post(url, "", nil)
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

func TestS20RefreshesAreCountedOneByOne(t *testing.T) {
	url, caches := serve(t)
	var mu sync.Mutex
	var counts []int
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			response, body := post(t, url)
			for response.StatusCode == http.StatusServiceUnavailable { // a slow machine: do as Retry-After says
				response, body = post(t, url)
			}
			mu.Lock()
			defer mu.Unlock()
			counts = append(counts, int(body["refreshes"].(float64)))
		})
	}
	wg.Wait()
	slices.Sort(counts)
	for i, count := range counts {
		if count != i+1 {
			t.Fatalf("counts %v, want 1 to 50", counts)
		}
	}
	store, _ := caches.Store("file")
	ttl, ok, err := store.(*cache.CacheRepository).TTL(t.Context(), "reports:refresh-count")
	if !ok || err != nil || ttl <= 0 || ttl > 60*time.Second {
		t.Errorf("the count lives for %v, %t, %v", ttl, ok, err)
	}
}

func TestS21AWaitThatRunsOutIs503(t *testing.T) {
	url, caches := serve(t)
	store, _ := caches.Store("file")
	err := store.(cache.Locker).Lock("reports:refresh-counter").Do(t.Context(), func(context.Context) error {
		response, body := post(t, url)
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "2" || body["error"] == nil {
			t.Errorf("%d, Retry-After %q, %v", response.StatusCode, response.Header.Get("Retry-After"), body)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := store.Has(t.Context(), "reports:refresh-count"); ok || err != nil {
		t.Errorf("the count was written: %t, %v", ok, err)
	}
}

func TestS22TheHandlerIsMappedToPOST(t *testing.T) {
	url, _ := serve(t)
	if response, _ := post(t, url); response.StatusCode != http.StatusOK {
		t.Errorf("POST: %d", response.StatusCode)
	}
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %d, Allow %q", response.StatusCode, response.Header.Get("Allow"))
	}
}
