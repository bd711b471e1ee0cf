package core_test

import (
	"context"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin"
)

// What a call through a driver's process allocates in the host: for a read the
// value, the physical key and the context that bounds the call. It counts what
// the whole process allocates, and so runs by itself.
func TestWhatACallThroughADriversProcessAllocates(t *testing.T) {
	m, err := cache.OpenConfig(t.Context(), cache.Config{Default: "main", Prefix: "app", Stores: map[string]cache.StoreConfig{
		"main": {Driver: "memory", Codec: "raw"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.WithoutCancel(t.Context()))
	r := repository(t, m, "main")
	ctx := context.Background()
	var value any = make([]byte, 100)
	if err := r.Set(ctx, "k", value, time.Hour); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		want float64
		run  func() error
	}{
		"get":    {3, func() error { _, err := r.Get(ctx, "k"); return err }},
		"a miss": {2, func() error { _, err := r.Get(ctx, "missing"); return err }},
		"set":    {2, func() error { return r.Set(ctx, "k", value, time.Hour) }},
		"has":    {2, func() error { _, err := r.Has(ctx, "k"); return err }},
		"delete": {2, func() error { _, err := r.Delete(ctx, "missing"); return err }},
	} {
		var failed error
		got := testing.AllocsPerRun(1000, func() {
			if err := test.run(); err != nil {
				failed = err
			}
		})
		if failed != nil {
			t.Errorf("%s: %v", name, failed)
		}
		if got != test.want {
			t.Errorf("%s takes %v allocations, want %v", name, got, test.want)
		}
	}
}
