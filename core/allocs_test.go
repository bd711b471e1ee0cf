package core_test

import (
	"context"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/inproc"
	"github.com/cachewright/cachewright/sdk"
)

// A still driver answers at once and allocates nothing.
type still struct{}

var stillValue = []byte("value")

func (still) Get(context.Context, string) ([]byte, bool, error)        { return stillValue, true, nil }
func (still) Set(context.Context, string, []byte, time.Duration) error { return nil }
func (still) Delete(context.Context, string) (bool, error)             { return true, nil }
func (still) Close() error                                             { return nil }

// The numbers are what the operations took before there were layers and
// policies: a store that has none pays nothing for them. A read with a prefix
// and the caller's deadline has the physical key alone.
func TestWhatIsNotConfiguredCostsNoAllocation(t *testing.T) {
	driver := sdk.Define("still", "1", func(context.Context, struct{}) (still, error) { return still{}, nil })
	ctx, cancel := context.WithTimeout(inproc.With(t.Context(), map[string]sdk.Driver{"still": driver}), time.Hour)
	defer cancel()
	m, err := cache.OpenConfig(ctx, cache.Config{Default: "main", Prefix: "app", Stores: map[string]cache.StoreConfig{
		"main": {Driver: "still", Codec: "raw"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(ctx)
	r := repository(t, m, "main")
	var value any = stillValue
	for name, test := range map[string]struct {
		most float64
		run  func()
	}{
		"get":    {1, func() { _, _ = r.Get(ctx, "k") }},
		"set":    {1, func() { _ = r.Set(ctx, "k", value, time.Minute) }},
		"delete": {1, func() { _, _ = r.Delete(ctx, "k") }},
		"has":    {1, func() { _, _ = r.Has(ctx, "k") }},
	} {
		if got := testing.AllocsPerRun(200, test.run); got > test.most {
			t.Errorf("%s takes %v allocations, want %v", name, got, test.most)
		}
	}
}
