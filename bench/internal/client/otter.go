package client

import (
	"context"

	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/maypok86/otter/v2"
)

// Otter is otter v2 in this process: what a cache costs without any hop.
type Otter struct{ cache *otter.Cache[string, []byte] }

// NewOtter makes one with room for all that a contest stores.
func NewOtter() (Otter, error) {
	c, err := otter.New(&otter.Options[string, []byte]{
		MaximumSize:      100_000,
		ExpiryCalculator: otter.ExpiryWriting[string, []byte](TTL),
	})
	return Otter{c}, err
}

// Get reads a value.
func (c Otter) Get(_ context.Context, key string) ([]byte, error) {
	value, ok := c.cache.GetIfPresent(key)
	if !ok {
		return nil, errMissing
	}
	return value, nil
}

// Set stores a value.
func (c Otter) Set(_ context.Context, key string, value []byte) error {
	c.cache.Set(key, value)
	return nil
}

// repeated has a contender do so much more in a call that looking at the clock
// costs next to nothing.
const repeated = 100

// Often is a contender each of whose calls is repeated.
func Often(c contest.Contender) contest.Contender {
	once := c.Call
	c.Each = repeated
	c.Call = func(ctx context.Context, n int) error {
		for i := range repeated {
			if err := once(ctx, n*repeated+i); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
