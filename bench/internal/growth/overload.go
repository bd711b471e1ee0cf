package growth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cachewright/cachewright/bench/internal/report"
	"github.com/cachewright/cachewright/bench/internal/slow"
	cache "github.com/cachewright/cachewright/core"
)

const (
	// crowd is more callers than there are places for calls and for waiting.
	crowd = 20_000
	// patience is the stores' timeout.
	patience = time.Second
	// bound is when the last of a crowd has to have its answer: a machine with
	// two cores takes a moment to tell so many.
	bound = 3 * patience
)

// overload asks more of a driver than it can do.
func overload(ctx context.Context, o Options) (Chapter, error) {
	c := Chapter{
		Title: "Overload",
		Text: fmt.Sprintf(`So many callers call once, at the same time, a driver that doesn't keep up; the store's timeout is %v.
Everybody has to have an answer within %v, and afterwards the driver has to answer as before.`, patience, bound),
		Table: report.Table{Left: 2, Head: []string{
			"driver", "transport", "callers", "answered", "overloaded", "out of time", "other errors", "first answer", "last answer", "afterwards",
		}},
	}
	for _, transport := range []string{"auto", "grpc"} {
		for _, key := range []string{slow.Stalled, slow.Slow} {
			if err := c.crowd(ctx, o, transport, key); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

func (c *Chapter) crowd(ctx context.Context, o Options, transport, key string) error {
	manager, err := open(ctx, cache.Config{
		Default: "slow",
		Drivers: map[string]cache.DriverConfig{"slow": {
			Run: "command", Command: []string{o.Program, "slow-driver"}, Transport: transport,
		}},
		Stores: map[string]cache.StoreConfig{"slow": {Driver: "slow", Codec: "raw", Timeout: patience}},
	})
	if err != nil {
		return err
	}
	defer manager.Close(ctx)
	e := ask(ctx, manager, key)
	after := time.Now()
	_, err = manager.Get(ctx, "anything")
	back := time.Since(after)
	driver := "stalled"
	if key == slow.Slow {
		driver = fmt.Sprintf("takes %v", slow.Pause)
	}
	if transport == "auto" {
		transport = "fast"
	}
	c.Table.Add(driver, transport, count(crowd), count(e.answered), count(e.overloaded), count(e.late), count(len(e.others)),
		brief(e.first()), brief(e.last()), brief(back))
	c.judge(driver+", "+transport, e, err)
	return nil
}

func (c *Chapter) judge(what string, e endings, after error) {
	if e.last() > bound {
		c.Faults = append(c.Faults, fmt.Sprintf("%s: the last answer took %v", what, e.last()))
	}
	if len(e.others) > 0 {
		c.Faults = append(c.Faults, fmt.Sprintf("%s: %d other errors, such as: %v", what, len(e.others), e.others[0]))
	}
	if after != nil {
		c.Faults = append(c.Faults, fmt.Sprintf("%s: afterwards: %v", what, after))
	}
}

// endings are how the calls of a crowd ended.
type endings struct {
	answered, overloaded, late int
	others                     []error
	took                       []time.Duration
}

func (e *endings) first() time.Duration { return slices.Min(e.took) }
func (e *endings) last() time.Duration  { return slices.Max(e.took) }

// ask has the crowd call once.
func ask(ctx context.Context, manager *cache.CacheManager, key string) endings {
	var mu sync.Mutex
	var e endings
	var all sync.WaitGroup
	begin := make(chan struct{})
	for range crowd {
		all.Go(func() {
			<-begin
			start := time.Now()
			_, err := manager.Get(ctx, key)
			took := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			e.add(took, err)
		})
	}
	close(begin)
	all.Wait()
	return e
}

func (e *endings) add(took time.Duration, err error) {
	e.took = append(e.took, took)
	switch {
	case err == nil:
		e.answered++
	case errors.Is(err, cache.ErrOverloaded):
		e.overloaded++
	case errors.Is(err, context.DeadlineExceeded):
		e.late++
	default:
		e.others = append(e.others, err)
	}
}

func brief(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
