// Package growth measures how Cachewright grows: with stores in one driver's
// process, with callers, with entries, and beyond what a driver can do.
package growth

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/cachewright/cachewright/bench/internal/family"
	"github.com/cachewright/cachewright/bench/internal/report"
	"github.com/cachewright/cachewright/bench/internal/stats"
	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin" // this program serves them, too
)

// A Chapter is one way to grow: a table, and what is wrong with it.
type Chapter struct {
	Title  string
	Text   string
	Table  report.Table
	Faults []string
}

// Options say how far to go.
type Options struct {
	Program string        // this executable, as which drivers start too
	Entries int           // the most entries
	Turn    time.Duration // of each measurement
}

// All grows in every way.
func All(ctx context.Context, o Options, say func(string, ...any)) (chapters []Chapter, err error) {
	for _, grow := range []func(context.Context, Options) (Chapter, error){stores, callers, entries, overload} {
		chapter, err := grow(ctx, o)
		if err != nil {
			return chapters, err
		}
		say("%s", chapter.Title)
		chapters = append(chapters, chapter)
	}
	return chapters, nil
}

var quiet = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

// open opens a configuration and starts its drivers.
func open(ctx context.Context, config cache.Config) (*cache.CacheManager, error) {
	manager, err := cache.OpenConfig(ctx, config, cache.WithLogger(quiet))
	if err != nil {
		return nil, err
	}
	if err := manager.Warm(ctx); err != nil {
		_ = manager.Close(ctx)
		return nil, err
	}
	return manager, nil
}

// A score is what some work was measured at: the medians of three turns.
type score struct{ rate, median, p99, cpu float64 }

func measure(ctx context.Context, callers int, turn time.Duration, call func(context.Context, int) error) (score, error) {
	results, err := contest.Run(ctx, []contest.Contest{{
		Key: "growth", Callers: callers, Contenders: []contest.Contender{{Key: "fast", Call: call}},
	}}, contest.Plan{Rounds: 3, Turn: turn}, func(int) {})
	if err != nil {
		return score{}, err
	}
	s := results[0].Scores[0]
	return score{stats.Median(s.Rates()), stats.Median(s.Medians()), s.P99(), s.CPU()}, nil
}

// settle waits until all processes have nearly nothing more to do, as the
// collection of what filling a store has left, for ten seconds at most.
func settle(ctx context.Context) {
	const look = 100 * time.Millisecond
	for range 100 {
		all := family.Of()
		before := all.CPU()
		select {
		case <-ctx.Done():
			return
		case <-time.After(look):
		}
		if all.CPU()-before < look/20 {
			return
		}
	}
}

func (s score) cells() []string {
	return []string{report.Number(s.rate), report.Number(s.median), report.Number(s.p99), report.Number(s.cpu)}
}

var scoreHead = []string{"op/s", "p50 µs", "p99 µs", "CPU µs/op"}

// steps are powers of ten from 1 or more up to most.
func steps(from, most int) (all []int) {
	for n := from; n <= most; n *= 10 {
		all = append(all, n)
	}
	return all
}

func count(n int) string { return strconv.Itoa(n) }
