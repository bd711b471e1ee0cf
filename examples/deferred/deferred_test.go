package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	cache "github.com/cachewright/cachewright/core"
)

// run serves the example until the test or stop ends it.
func run(t *testing.T, config string) (url string, visits *Visits, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	visits = NewVisits(config)
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, visits) }()
	stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String(), visits, stop
}

func call(t *testing.T, method, url string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
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

func configure(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("default: file\nstores: {file: {driver: file, path: ./visits}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheCacheIsOpenedByTheFirstRequestThatCan(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.yaml")
	url, visits, _ := run(t, config)
	if status, _ := call(t, "GET", url+"/healthz"); status != http.StatusOK || visits.opened.Load() != nil {
		t.Errorf("%d before a cache was needed; opened: %t", status, visits.opened.Load() != nil)
	}
	for range 2 { // a failure is not kept
		if status, body := call(t, "POST", url); status != http.StatusServiceUnavailable || body["error"] == nil {
			t.Errorf("without a configuration: %d %v", status, body)
		}
	}
	configure(t, config)
	if status, body := call(t, "POST", url); status != http.StatusOK || body["visits"] != 1.0 {
		t.Errorf("with a configuration: %d %v", status, body)
	}
	opened := visits.opened.Load()
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	if status, body := call(t, "POST", url); status != http.StatusOK || body["visits"] != 2.0 || visits.opened.Load() != opened {
		t.Errorf("once opened, opened for good: %d %v", status, body)
	}
}

func TestFirstRequestsAtOnceOpenOneCache(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config.yaml")
	configure(t, config)
	url, visits, stop := run(t, config)
	counts := make([]float64, 50)
	var callers sync.WaitGroup
	for i := range counts {
		callers.Go(func() {
			_, body := call(t, "POST", url)
			counts[i], _ = body["visits"].(float64)
		})
	}
	callers.Wait()
	slices.Sort(counts)
	for i, count := range counts {
		if count != float64(i+1) {
			t.Fatalf("counts %v, want 1 to 50", counts)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := visits.opened.Load().Get(t.Context(), visitsKey); !errors.Is(err, cache.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if drivers := visits.opened.Load().Drivers(); len(drivers) != 1 || drivers[0].PID != 0 {
		t.Errorf("after the end: %+v", drivers)
	}
}
