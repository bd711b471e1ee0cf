package demo

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// A tally is a hook that counts hits and misses of reads.
type tally struct {
	hits, misses atomic.Int64
}

func (t *tally) reset() {
	t.hits.Store(0)
	t.misses.Store(0)
}

func (t *tally) reads() (hits, misses int64) { return t.hits.Load(), t.misses.Load() }

func (t *tally) Start(ctx context.Context, _ cache.Call) (context.Context, error) { return ctx, nil }

func (t *tally) End(_ context.Context, c cache.Call, o cache.Outcome) error {
	if c.Op == cache.OpGet && o.Err == nil {
		t.hits.Add(int64(o.Hits))
		t.misses.Add(int64(c.Keys - o.Hits))
	}
	return o.Err
}

// spread describes latencies by median, 99th percentile and maximum.
func spread(took []time.Duration) string {
	sorted := slices.Sorted(slices.Values(took))
	at := func(q float64) time.Duration {
		return sorted[int(q*float64(len(sorted)-1))].Round(time.Microsecond)
	}
	return fmt.Sprintf("median %v, p99 %v, longest %v", at(0.5), at(0.99), at(1))
}
