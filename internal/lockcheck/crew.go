package lockcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/lockwatch"
)

// A taker runs fn under the locks of all keys.
type taker func(ctx context.Context, keys []string, fn func(context.Context) error, opts ...cache.LockOption) error

// takerOf takes locks as applications do.
func takerOf(locker cache.Locker) taker {
	return func(ctx context.Context, keys []string, fn func(context.Context) error, opts ...cache.LockOption) error {
		return cache.DoMany(ctx, locker, keys, fn, opts...)
	}
}

// A crew is the goroutines of one process.
type crew struct {
	load Load
	take taker
	now  func() time.Duration // the clock of the holders' deadlines
	tell func(event)

	park atomic.Bool   // the next holder is to stay inside
	goOn chan struct{} // lets the parked holder go
}

func newCrew(load Load, take taker, now func() time.Duration, tell func(event)) *crew {
	return &crew{load: load, take: take, now: now, tell: tell, goOn: make(chan struct{}, 1)}
}

// work contends until ctx is done. process makes the goroutines of different
// processes do different things.
func (c *crew) work(ctx context.Context, process int) {
	var working sync.WaitGroup
	for g := range c.load.Goroutines {
		working.Go(func() {
			random := rand.New(rand.NewPCG(c.load.Seed, uint64(process)<<32|uint64(g)))
			name := fmt.Sprintf("-%d-%d", process, g)
			for ctx.Err() == nil {
				e := c.load.errand(random, name)
				(&turn{crew: c, goroutine: g, errand: e}).run(ctx)
				sleep(ctx, e.pause)
			}
		})
	}
	working.Wait()
}

// A turn is one attempt to enter, and what comes of it.
type turn struct {
	*crew
	goroutine int
	errand
	asked time.Duration

	mu     sync.Mutex // guards below
	grants map[string]grant
	inside bool
}

// A grant is what the holder hears of a lock: when it had it, when it had asked
// for it, and until when it believes to have it.
type grant struct{ at, tried, until time.Duration }

func (t *turn) run(ctx context.Context) {
	t.grants = make(map[string]grant)
	asking, cancel := context.WithCancel(lockwatch.With(ctx, t.kept))
	defer cancel()
	if t.cancel >= 0 {
		timer := time.AfterFunc(t.cancel, cancel)
		defer timer.Stop()
	}
	t.asked = t.now()
	err := t.take(asking, t.keys, t.block, t.load.options(t.errand)...)
	if !t.inside {
		if ctx.Err() == nil {
			t.say(event{Is: missed, Why: why(err)})
			t.rest(ctx, err)
		}
		return
	}
	t.sayOfEach(event{Is: gone, At: t.now(), End: end(err), Why: why(err)})
}

// kept hears of every deadline, first when a lock is acquired, and of its loss,
// which is a deadline that is over.
func (t *turn) kept(physicalKey string, until time.Duration) {
	at := t.now()
	key := t.keyOf(physicalKey)
	t.mu.Lock()
	g, renewed := t.grants[key]
	if !renewed {
		g = grant{at: at, tried: until - t.load.Lease}
	}
	if renewed && until <= at {
		until = min(until, g.until)
	}
	g.until = until
	t.grants[key] = g
	inside := t.inside
	t.mu.Unlock()
	if inside {
		t.say(event{Is: kept, Key: key, At: at, Until: until})
	}
}

func (t *turn) keyOf(physicalKey string) string {
	i := slices.IndexFunc(t.keys, func(key string) bool { return strings.HasSuffix(physicalKey, key) })
	return t.keys[i]
}

// block is what runs under the lock.
func (t *turn) block(ctx context.Context) error {
	t.enter(ctx)
	if t.crew.park.CompareAndSwap(true, false) {
		t.stay(ctx)
	} else {
		sleep(ctx, t.hold)
	}
	if context.Cause(ctx) == cache.ErrLockLost {
		t.sayOfEach(event{Is: told, At: t.now()})
	}
	t.sayOfEach(event{Is: left, At: t.now()})
	return nil
}

// enter tells of the locks, those without a deadline too. Renewals that come
// meanwhile wait, so that none is told before its lock.
func (t *turn) enter(ctx context.Context) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range t.each() {
		e := event{Is: entered, Key: key, At: now, Asked: t.asked}
		if g, ok := t.grants[key]; ok {
			e.At, e.Tried, e.Until = g.at, g.tried, g.until
		}
		e.Fence, _ = cache.FencingTokenFor(ctx, key)
		t.say(e)
	}
	t.inside = true
}

// stay parks the holder.
func (t *turn) stay(ctx context.Context) {
	select {
	case <-t.goOn: // meant for one that was gone
	default:
	}
	t.say(event{Is: parked})
	select {
	case <-t.goOn:
	case <-ctx.Done():
	}
}

// each is every key once.
func (t *turn) each() []string { return slices.Compact(slices.Sorted(slices.Values(t.keys))) }

func (t *turn) sayOfEach(e event) {
	for _, key := range t.each() {
		e.Key = key
		t.say(e)
	}
}

func (t *turn) say(e event) {
	e.Goroutine = t.goroutine
	t.tell(e)
}

// rest gives a store that fails a moment.
func (t *turn) rest(ctx context.Context, err error) {
	if !errors.Is(err, cache.ErrLockTimeout) && !errors.Is(err, context.Canceled) {
		sleep(ctx, 10*time.Millisecond)
	}
}

func end(err error) End {
	switch {
	case err == nil:
		return Released
	case errors.Is(err, cache.ErrLockLost):
		return Lost
	}
	return Failed
}

var figures = regexp.MustCompile(`[0-9]+(\.[0-9]+)?[a-zµ]*`)

// why sorts the ordinary reasons; others go out as they are, but for figures.
func why(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, cache.ErrLockTimeout):
		return "waited long enough"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return figures.ReplaceAllString(err.Error(), "…")
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
