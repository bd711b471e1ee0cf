package growth

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/bench/internal/family"
	"github.com/cachewright/cachewright/bench/internal/report"
	cache "github.com/cachewright/cachewright/core"
)

// stores opens more and more stores in one driver's process.
func stores(ctx context.Context, o Options) (Chapter, error) {
	c := Chapter{
		Title: "Stores in one driver process",
		Text: `Memory stores of one manager, and so in one process. Opening is all of them, with the start of the process;
eight callers then read 100 B from all stores in turn. Memory is the driver's.`,
		Table: report.Table{Head: append([]string{"stores", "opened in", "driver's memory"}, scoreHead...)},
	}
	opening, memory, work := curve{name: "opening, ms"}, curve{name: "memory, bytes"}, curve{name: "CPU of a Get, µs"}
	for _, n := range steps(1, 1000) {
		m, err := openMany(ctx, n, o.Turn)
		if err != nil {
			return c, err
		}
		c.Table.Add(append([]string{count(n), m.opening.Round(time.Millisecond / 10).String(), report.Bytes(float64(m.memory))}, m.score.cells()...)...)
		opening.add(n, float64(m.opening.Milliseconds()))
		memory.add(n, float64(m.memory))
		work.add(n, m.score.cpu)
	}
	c.Faults = append(append(opening.linear(), memory.linear()...), work.level()...)
	return c, nil
}

type many struct {
	opening time.Duration
	memory  int64
	score   score
}

func openMany(ctx context.Context, n int, turn time.Duration) (m many, err error) {
	config := cache.Config{Default: "s0", Stores: map[string]cache.StoreConfig{}}
	for i := range n {
		config.Stores[fmt.Sprint("s", i)] = cache.StoreConfig{Driver: "memory", Codec: "raw"}
	}
	begin := time.Now()
	manager, err := open(ctx, config)
	if err != nil {
		return m, err
	}
	defer manager.Close(ctx)
	m.opening = time.Since(begin)
	repositories := make([]cache.ICacheRepository, n)
	for i := range repositories {
		repositories[i], err = manager.Store(fmt.Sprint("s", i))
		if err == nil {
			err = repositories[i].Set(ctx, "key", make([]byte, 100), cache.Forever)
		}
		if err != nil {
			return m, err
		}
	}
	m.memory = family.Of().Children().Memory()
	m.score, err = measure(ctx, 8, turn, func(ctx context.Context, i int) error {
		_, err := repositories[i%n].Get(ctx, "key")
		return err
	})
	return m, err
}
