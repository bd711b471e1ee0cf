package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// serve runs the example with its own configuration, in a folder of its own.
func serve(t *testing.T) (url string, caches *cache.CacheManager) {
	t.Helper()
	config, err := os.ReadFile("config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := cache.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(routes(m))
	t.Cleanup(func() {
		server.Close()
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server.URL, m
}

func call(t *testing.T, method, url, body string) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatalf("%s %s: %q", method, url, data)
	}
	return response.StatusCode, answer
}

func TestASeriesIsStoredAndMeasured(t *testing.T) {
	url, caches := serve(t)
	steps := []struct {
		method, path, body string
		status             int
		want               map[string]any
	}{
		{"GET", "/series/rain", "", 404, map[string]any{"error": "there is no such series"}},
		{"PUT", "/series/rain", "[1, 2.5, 4]", 200, map[string]any{"count": 3.0}},
		{"GET", "/series/rain", "", 200, map[string]any{"count": 3.0, "mean": 2.5}},
		{"PUT", "/series/rain", "[]", 200, map[string]any{"count": 0.0}},
		{"GET", "/series/rain", "", 200, map[string]any{"count": 0.0, "mean": 0.0}},
		{"PUT", "/series/rain", "rain", 400, map[string]any{"error": "the body is no list of numbers"}},
		{"PUT", "/series/long", "[" + strings.Repeat("1,", 9999) + "1]", 200, map[string]any{"count": 10000.0}},
		{"GET", "/series/long", "", 200, map[string]any{"count": 10000.0, "mean": 1.0}},
	}
	for _, step := range steps {
		status, got := call(t, step.method, url+step.path, step.body)
		if status != step.status || !reflect.DeepEqual(got, step.want) {
			t.Errorf("%s %s: %d %v; want %d %v", step.method, step.path, status, got, step.status, step.want)
		}
	}
	v, err := caches.Get(t.Context(), "long")
	if err != nil || len(v.Bytes()) != 1+8*10000 || v.Bytes()[0] != mark {
		t.Errorf("the value has %d bytes, %v", len(v.Bytes()), err)
	}
}

func TestAnEntryThatIsNoSeriesIsAnError(t *testing.T) {
	url, caches := serve(t)
	store, err := caches.Store("measurements")
	if err != nil {
		t.Fatal(err)
	}
	raw := store.(*cache.CacheRepository).WithCodec(cache.Raw)
	if err := raw.Set(t.Context(), "odd", "not a series", time.Minute); err != nil {
		t.Fatal(err)
	}
	if status, got := call(t, "GET", url+"/series/odd", ""); status != 500 {
		t.Errorf("%d %v", status, got)
	}
	if n, err := caches.Increment(t.Context(), "visits", 5); n != 5 || err != nil { // counters work under any codec
		t.Errorf("Increment = %d, %v", n, err)
	}
}

func TestTheCodecKeepsEveryNumber(t *testing.T) {
	t.Parallel()
	want := Series{0, math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), -1.5}
	data, err := seriesCodec{}.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Series
	if err := (seriesCodec{}).Decode(data, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v became %v, %v", want, got, err)
	}
	for text, dst := range map[string]any{"": &got, "F1234567": &got, "5": &got, "12345678": &got} {
		if err := (seriesCodec{}).Decode([]byte(text), dst); !errors.Is(err, cache.ErrCorrupt) {
			t.Errorf("Decode of %q: %v", text, err)
		}
	}
	if err := (seriesCodec{}).Decode(data, new(string)); !errors.Is(err, cache.ErrWrongType) {
		t.Errorf("Decode into a string: %v", err)
	}
	for _, v := range []any{nil, "text", []int{1}} {
		if _, err := (seriesCodec{}).Encode(v); err == nil {
			t.Errorf("Encode(%v) has no error", v)
		}
	}
}
