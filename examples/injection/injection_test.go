package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	cache "github.com/cachewright/cachewright/core"
)

// open makes a manager whose file store nobody shares.
func open(t *testing.T) *cache.CacheManager {
	t.Helper()
	m, err := cache.OpenConfig(t.Context(), cache.Config{Default: "file", Stores: map[string]cache.StoreConfig{
		"file": {Driver: "file", Options: map[string]any{"path": t.TempDir()}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// serve runs the example with a manager and counts how often it resolves.
func serve(t *testing.T, caches cache.ICacheManager) (url string, resolved *atomic.Int32) {
	t.Helper()
	resolved = new(atomic.Int32)
	read := ordersIn("orders.csv")
	server := httptest.NewServer(routes(NewCachedSummary(caches), func(ctx context.Context) (Summary, error) {
		resolved.Add(1)
		return read(ctx)
	}))
	t.Cleanup(server.Close)
	return server.URL, resolved
}

func get(t *testing.T, url string) (int, map[string]any) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	defer response.Body.Close()
	var body map[string]any
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		t.Error(err)
	}
	return response.StatusCode, body
}

func TestTheServiceResolvesOnceForEachManagerItIsGiven(t *testing.T) {
	t.Parallel()
	want := map[string]any{"orders": 3.0, "amount": 162.0}
	for range 2 { // two managers side by side know nothing of each other
		url, resolved := serve(t, open(t))
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				status, body := get(t, url)
				for status == http.StatusServiceUnavailable { // a slow machine
					status, body = get(t, url)
				}
				if status != http.StatusOK || !reflect.DeepEqual(body, want) {
					t.Errorf("%d %v, want %v", status, body, want)
				}
			})
		}
		callers.Wait()
		if n := resolved.Load(); n != 1 {
			t.Errorf("the orders were read %d times", n)
		}
	}
}

func TestABusyBuildIs503(t *testing.T) {
	t.Parallel()
	m := open(t)
	url, resolved := serve(t, m)
	store, err := m.Store("file")
	if err != nil {
		t.Fatal(err)
	}
	err = store.(cache.Locker).Lock(buildKey).Do(t.Context(), func(context.Context) error {
		if status, body := get(t, url); status != http.StatusServiceUnavailable || body["error"] == nil {
			t.Errorf("%d %v", status, body)
		}
		return nil
	})
	if err != nil || resolved.Load() != 0 {
		t.Errorf("%v; the orders were read %d times", err, resolved.Load())
	}
}

// doubles keep the contracts, which have no locks.
type (
	managerDouble    struct{ cache.ICacheManager }
	repositoryDouble struct{ cache.ICacheRepository }
)

func (managerDouble) Store(string) (cache.ICacheRepository, error) { return repositoryDouble{}, nil }
func (repositoryDouble) Name() string                              { return "double" }

func TestARepositoryWithoutLocksIsAnErrorAndResolvesNothing(t *testing.T) {
	t.Parallel()
	url, resolved := serve(t, managerDouble{})
	if status, body := get(t, url); status != http.StatusInternalServerError || body["error"] == nil {
		t.Errorf("%d %v", status, body)
	}
	if n := resolved.Load(); n != 0 {
		t.Errorf("the orders were read %d times", n)
	}
}
