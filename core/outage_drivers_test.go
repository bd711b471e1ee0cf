package core_test

import (
	"context"
	"net"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// on_error: miss with a driver in a process of its own, before a server that
// isn't there and before one that never answers.
func TestMissOnErrorThroughARealDriver(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	stores := map[string]cache.StoreConfig{}
	for name, addr := range map[string]net.Addr{"silent": silent.Addr(), "gone": gone.Addr()} {
		for _, onError := range []string{"miss", "fail"} {
			stores[name+"_"+onError] = cache.StoreConfig{
				Driver: "redis", Prefix: new("p"), Timeout: 300 * time.Millisecond, OnError: onError, Options: map[string]any{"addr": addr.String()},
			}
		}
	}
	m, err := cache.OpenConfig(t.Context(), cache.Config{Default: "gone_miss", Stores: stores})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"silent", "gone"} {
		missesThroughADriver(t, name, repository(t, m, name+"_miss"), repository(t, m, name+"_fail"))
	}
	if err := m.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

func missesThroughADriver(t *testing.T, name string, miss, fail *cache.CacheRepository) {
	t.Helper()
	for operation, read := range reads {
		if found, err := read(t.Context(), miss); found || err != nil {
			t.Errorf("%s: %s: found %t, %v; want a miss", name, operation, found, err)
		}
		if _, err := read(t.Context(), fail); err == nil {
			t.Errorf("%s: %s with on_error: fail has no error", name, operation)
		}
	}
	if v, err := miss.Remember(t.Context(), "k", time.Minute, constant(1)); err != nil || string(v.Bytes()) != "1" {
		t.Errorf("%s: Remember: %s, %v", name, v.Bytes(), err)
	}
	if err := miss.Set(t.Context(), "k", 1, time.Minute); err == nil {
		t.Errorf("%s: Set has no error", name)
	}
}
