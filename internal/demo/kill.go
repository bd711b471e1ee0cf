package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

const (
	counter  = "calls"
	workers  = 16
	loadTime = 3 * time.Second
)

// A load is what callers did while the driver was killed.
type load struct {
	gets, failedGets atomic.Int64
	counted, unknown atomic.Int64 // increments: confirmed, and of unknown fate
	refused          atomic.Int64 // increments that were not applied
	longest          atomic.Int64 // of the gets, in nanoseconds

	mu    sync.Mutex
	first error // of the failed gets
}

// kill ends the file driver's process in the middle of a load.
func (d *demo) kill(ctx context.Context) error {
	store, err := d.caches.Store("file")
	if err != nil {
		return err
	}
	before := d.driver("file").PID
	d.say("\n%d callers read and count through store file; its driver, process %d, is killed meanwhile.\n", workers, before)
	var l load
	stop := time.Now().Add(loadTime)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { l.run(ctx, store, stop) })
	}
	time.Sleep(loadTime / 3)
	if err := killProcess(before); err != nil {
		return fmt.Errorf("kill process %d: %w", before, err)
	}
	wg.Wait()
	return d.reportLoad(ctx, store, &l, before)
}

func killProcess(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func (l *load) run(ctx context.Context, store cache.ICacheRepository, stop time.Time) {
	for time.Now().Before(stop) && ctx.Err() == nil {
		start := time.Now()
		if _, err := store.Get(ctx, key); err != nil {
			l.failed(err)
		}
		l.gets.Add(1)
		l.note(time.Since(start))
		l.count(ctx, store)
	}
}

func (l *load) count(ctx context.Context, store cache.ICacheRepository) {
	_, err := store.Increment(ctx, counter, 1)
	switch {
	case err == nil:
		l.counted.Add(1)
	case errors.Is(err, cache.ErrMaybeApplied):
		l.unknown.Add(1)
	default:
		l.refused.Add(1)
	}
}

func (l *load) failed(err error) {
	l.failedGets.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		l.first = err
	}
}

func (l *load) note(took time.Duration) {
	for {
		longest := l.longest.Load()
		if int64(took) <= longest || l.longest.CompareAndSwap(longest, int64(took)) {
			return
		}
	}
}

func (d *demo) reportLoad(ctx context.Context, store cache.ICacheRepository, l *load, before int) error {
	sum, err := store.Increment(ctx, counter, 0)
	if err != nil {
		return err
	}
	after := d.driver("file")
	d.say("  the driver runs again as process %d (restarts: %d)\n", after.PID, after.Restarts)
	d.say("  gets: %d, of which %d failed; the longest took %v\n", l.gets.Load(), l.failedGets.Load(), time.Duration(l.longest.Load()).Round(time.Microsecond))
	d.say("  increments: %d confirmed, %d of unknown fate (ErrMaybeApplied, never sent twice), %d refused\n", l.counted.Load(), l.unknown.Load(), l.refused.Load())
	d.say("  the counter stands at %d\n", sum)
	switch {
	case after.PID == before || after.PID == 0:
		return errors.New("the driver was not restarted")
	case l.failedGets.Load() > 0:
		return fmt.Errorf("%d gets failed, the first: %w", l.failedGets.Load(), l.first)
	case sum < l.counted.Load() || sum > l.counted.Load()+l.unknown.Load():
		return fmt.Errorf("the counter stands at %d, and %d to %d was promised", sum, l.counted.Load(), l.counted.Load()+l.unknown.Load())
	}
	return nil
}
