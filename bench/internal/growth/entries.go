package growth

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/bench/internal/family"
	"github.com/cachewright/cachewright/bench/internal/report"
	cache "github.com/cachewright/cachewright/core"
)

// entries fills memory stores with more and more.
func entries(ctx context.Context, o Options) (Chapter, error) {
	c := Chapter{
		Title: "Entries in a memory store",
		Text: `Values of 16 B, stored in batches of 1,000 by one caller and read by eight, all over the keys. Memory is what the
driver's process has more than an empty one; some of it is room that the runtime keeps. Ten million entries are three
gigabytes, which no cache of a processor holds: storing one of them may cost four times what storing one of a thousand
does.`,
		Table: report.Table{Head: append([]string{"entries", "stored in", "memory", "an entry"}, scoreHead...)},
	}
	storing, memory, work := curve{name: "storing, ms", slack: coldSlack}, curve{name: "memory, bytes"}, curve{name: "CPU of a Get, µs"}
	for _, n := range steps(1000, o.Entries) {
		f, err := fillMany(ctx, n, o.Turn)
		if err != nil {
			return c, err
		}
		c.Table.Add(append([]string{
			count(n), f.took.Round(time.Millisecond / 10).String(), report.Bytes(float64(f.memory)), report.Bytes(float64(f.memory) / float64(n)),
		}, f.score.cells()...)...)
		storing.add(n, float64(f.took.Microseconds())/1000)
		memory.add(n, float64(f.memory))
		work.add(n, f.score.cpu)
	}
	c.Faults = append(append(storing.linear(), memory.linear()...), work.level()...)
	return c, nil
}

type filled struct {
	took   time.Duration
	memory int64
	score  score
}

func fillMany(ctx context.Context, n int, turn time.Duration) (f filled, err error) {
	manager, err := open(ctx, cache.Config{Default: "memory", Stores: map[string]cache.StoreConfig{
		"memory": {Driver: "memory", Codec: "raw", Options: map[string]any{"max_entries": 2 * n}},
	}})
	if err != nil {
		return f, err
	}
	defer manager.Close(ctx)
	empty := family.Of().Children().Memory()
	begin := time.Now()
	keys, err := fill(ctx, manager, n, 16)
	if err != nil {
		return f, err
	}
	f.took = time.Since(begin)
	settle(ctx)
	f.memory = family.Of().Children().Memory() - empty
	f.score, err = measure(ctx, 8, turn, func(ctx context.Context, i int) error {
		v, err := manager.Get(ctx, keys(i))
		if err == nil && !v.Found() {
			err = fmt.Errorf("%s is gone", keys(i))
		}
		return err
	})
	return f, err
}
