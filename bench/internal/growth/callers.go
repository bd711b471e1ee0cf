package growth

import (
	"context"
	"fmt"

	"github.com/cachewright/cachewright/bench/internal/report"
	cache "github.com/cachewright/cachewright/core"
)

// callers lets more and more callers read at once.
func callers(ctx context.Context, o Options) (Chapter, error) {
	c := Chapter{
		Title: "Callers",
		Text: `They read 100 B from one memory store in a closed loop. What all callers together get must not fall, so that
a caller waits at most in proportion to their number. Ten thousand goroutines have stacks of some 80 MB: every step of a
call, in whatever code, waits for memory then, which is why they may cost four times what a thousand do.`,
		Table: report.Table{Head: append([]string{"callers"}, scoreHead...)},
	}
	manager, err := open(ctx, cache.Config{Default: "memory", Stores: map[string]cache.StoreConfig{
		"memory": {Driver: "memory", Codec: "raw"},
	}})
	if err != nil {
		return c, err
	}
	defer manager.Close(ctx)
	keys, err := fill(ctx, manager, 1000, 100)
	if err != nil {
		return c, err
	}
	waits := curve{name: "median latency, µs", slack: coldSlack}
	all := curve{name: "time of all callers for an operation, µs", slack: coldSlack}
	for _, n := range steps(1, 10_000) {
		s, err := measure(ctx, n, o.Turn, func(ctx context.Context, i int) error {
			_, err := manager.Get(ctx, keys(i))
			return err
		})
		if err != nil {
			return c, err
		}
		c.Table.Add(append([]string{count(n)}, s.cells()...)...)
		waits.add(n, s.median)
		all.add(n, 1e6/s.rate)
	}
	c.Faults = append(waits.linear(), all.level()...)
	return c, nil
}

// fill stores entries in batches, and returns how their keys are found in an
// order that jumps.
func fill(ctx context.Context, manager *cache.CacheManager, entries, size int) (keys func(i int) string, err error) {
	key := func(i int) string { return fmt.Sprintf("key:%08d", i) }
	const batch = 1000
	value := make([]byte, size)
	for from := 0; from < entries; from += batch {
		values := make(map[string]any, batch)
		for i := from; i < min(from+batch, entries); i++ {
			values[key(i)] = value
		}
		if err := manager.SetMany(ctx, values, cache.Forever); err != nil {
			return nil, err
		}
	}
	const stride = 7_919 // a prime
	return func(i int) string { return key(i * stride % entries) }, nil
}
