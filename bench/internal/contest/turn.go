package contest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/bench/internal/family"
	"github.com/cachewright/cachewright/bench/internal/stats"
)

// warmUp is the share of a turn that is worked before it counts.
const warmUp = 8

// A Turn is what one contender was measured at in one round.
type Turn struct {
	Operations int
	Took       time.Duration
	Latencies  *stats.Histogram // of calls
	CPU        time.Duration    // of all processes together
	Allocs     uint64           // in this process
	Each       int              // operations of a call
}

// turn has a contender work for so long.
func (c Contest) turn(ctx context.Context, contender Contender, long time.Duration) (Turn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	runtime.GC()
	t := newTrack(c, contender)
	if _, err := t.run(ctx, long/warmUp); err != nil {
		return Turn{}, err
	}
	t.latencies = newHistograms(len(t.latencies))
	t.calls.Store(0)
	var before, after runtime.MemStats
	all := family.Of()
	runtime.ReadMemStats(&before)
	spent := all.CPU()
	took, err := t.run(ctx, long)
	spent = all.CPU() - spent
	runtime.ReadMemStats(&after)
	if err != nil {
		return Turn{}, err
	}
	return Turn{
		Operations: int(t.calls.Load()) * contender.each(),
		Took:       took,
		Latencies:  t.merged(),
		CPU:        spent,
		Allocs:     after.Mallocs - before.Mallocs,
		Each:       contender.each(),
	}, nil
}

// A track is where the callers of a turn run.
type track struct {
	contest   Contest
	contender Contender
	callers   int
	latencies []*stats.Histogram // shared by callers where there are very many
	calls     atomic.Int64

	mu  sync.Mutex
	err error
}

const mostHistograms = 256

func newTrack(c Contest, contender Contender) *track {
	callers := c.Callers
	if contender.Alone {
		callers = 1
	}
	return &track{
		contest: c, contender: contender, callers: callers,
		latencies: newHistograms(min(callers, mostHistograms)),
	}
}

func newHistograms(n int) []*stats.Histogram {
	all := make([]*stats.Histogram, n)
	for i := range all {
		all[i] = new(stats.Histogram)
	}
	return all
}

// run lets all callers call until the time is over, and returns how long it took.
func (t *track) run(ctx context.Context, long time.Duration) (time.Duration, error) {
	begin := time.Now()
	end := begin.Add(long)
	var working sync.WaitGroup
	for caller := range t.callers {
		working.Go(func() {
			if err := t.call(ctx, caller, begin, end); err != nil {
				t.fail(err)
			}
		})
	}
	working.Wait()
	return time.Since(begin), t.err
}

func (t *track) call(ctx context.Context, caller int, begin, end time.Time) error {
	latencies := t.latencies[caller%len(t.latencies)]
	next := begin.Add(t.contest.Pace * time.Duration(caller) / time.Duration(t.callers))
	calls := 0
	defer func() { t.calls.Add(int64(calls)) }()
	last := begin
	for n := caller; last.Before(end); n += t.callers {
		if t.contest.Pace > 0 {
			time.Sleep(time.Until(next))
			next = next.Add(t.contest.Pace)
			last = time.Now()
		}
		took, err := t.contender.do(ctx, n, last)
		if err != nil {
			return err
		}
		calls++
		latencies.Record(took)
		if t.contender.Timed != nil {
			last = time.Now()
		} else {
			last = last.Add(took)
		}
	}
	return nil
}

func (t *track) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil || errors.Is(t.err, context.Canceled) {
		t.err = fmt.Errorf("%s, %s: %w", t.contest.Key, t.contender.Key, err)
	}
}

func (t *track) merged() *stats.Histogram {
	all := new(stats.Histogram)
	for _, h := range t.latencies {
		all.Merge(h)
	}
	return all
}
