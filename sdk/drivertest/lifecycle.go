package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var lifecycleCases = []Case{
	{
		Name: "life/cancelled-before",
		Rule: "A call whose context is done fails with the context's error, and nothing is applied.",
		Run:  cancelledBefore,
	},
	{
		Name: "life/cancelled-during",
		Rule: "A call that is cancelled on its way succeeds or fails with the context's error, soon; the store works on.",
		Run:  cancelledDuring,
	},
	{
		Name: "life/closed",
		Rule: "After Close every operation fails with ErrClosed; closing again is no error.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.set(c.key("k"), "v", sdk.NoExpiry)
			for range 2 {
				if err := c.Close(ctx); err != nil {
					t.Errorf("Close: %v", err)
				}
				for _, op := range c.offered() {
					if err := op.call(ctx, c.Store, c.key("k")); !errors.Is(err, sdk.ErrClosed) {
						t.Errorf("%s after Close: %v; want ErrClosed", op.name, err)
					}
				}
			}
		},
	},
	{
		Name: "life/close-during-calls",
		Rule: "Close lets running calls end: each succeeds or fails with ErrClosed, and none hangs.",
		Run:  closeDuringCalls,
	},
	{
		Name: "life/reopen",
		Rule: "Closing and opening again keeps entries, counters and what is left of their TTL; what expired meanwhile is gone.",
		Except: func(tr sdk.Traits) string {
			if tr.Class == sdk.ClassVolatile {
				return "the store is volatile"
			}
			return ""
		},
		Run: reopenKeeps,
	},
	{
		Name:  "life/reopen-leases",
		Rule:  "A lease outlives the process that granted it, and the fence never falls.",
		Needs: []sdk.Capability{sdk.CanLease},
		Except: func(tr sdk.Traits) string {
			if tr.LockScope == sdk.ScopeHost || tr.LockScope == sdk.ScopeCluster {
				return ""
			}
			return fmt.Sprintf("the store's locks have scope %q", tr.LockScope)
		},
		Run: reopenKeepsLeases,
	},
	{
		Name: "life/volatile",
		Rule: "A volatile store starts empty.",
		Except: func(tr sdk.Traits) string {
			if tr.Class != sdk.ClassVolatile {
				return fmt.Sprintf("the store is %s", tr.Class)
			}
			return ""
		},
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.set(c.key("k"), "v", sdk.NoExpiry)
			c.another().misses(c.key("k"))
			c.reopen().misses(c.key("k"))
		},
	},
	{
		Name:   "life/shared",
		Rule:   "Two that open the same data see each other's writes at once.",
		Except: unshared,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			other := c.another()
			for i := range 20 {
				value := fmt.Sprint(i)
				c.set(c.key("k"), value, sdk.NoExpiry)
				other.holds(c.key("k"), value)
				other.says("Delete by the other", other.delete(c.key("k")), true)
				c.misses(c.key("k"))
			}
		},
	},
	{
		Name: "life/exclusive",
		Rule: "Data that only one may have open is refused to a second, which says why, until the first has closed it.",
		Except: func(tr sdk.Traits) string {
			if tr.Class != sdk.ClassExclusive {
				return fmt.Sprintf("the store is %s", tr.Class)
			}
			return ""
		},
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.set(c.key("k"), "v", sdk.NoExpiry)
			if s, err := t.Another(ctx); err == nil {
				_, _, err = s.Get(ctx, c.key("k"))
				if err == nil {
					t.Errorf("a second store on exclusive data opens and reads")
				}
			}
			c.reopen().holds(c.key("k"), "v")
		},
	},
	{
		Name: "life/cold-start",
		Rule: "The first calls of a store that has just been opened work, however many come at once and from wherever.",
		Run:  coldStart,
	},
	{
		Name: "life/two-stores",
		Rule: "A store that is closed disturbs no other store of the driver.",
		Except: func(tr sdk.Traits) string {
			if tr.Class == sdk.ClassExclusive {
				return "only one may have the data open"
			}
			return ""
		},
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			other := c.another()
			c.set(c.key("k"), "v", sdk.NoExpiry)
			if err := other.Close(ctx); err != nil {
				t.Errorf("Close of the other store: %v", err)
			}
			c.holds(c.key("k"), "v")
		},
	},
	{
		Name: "life/ping-and-stats",
		Rule: "A store that works answers a ping, and its report has names and values.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			if err := c.Ping(ctx); err != nil {
				t.Errorf("Ping: %v", err)
			}
			stats, err := c.Stats(ctx)
			if err != nil {
				t.Errorf("Stats: %v", err)
			}
			seen := make(map[string]bool)
			for _, stat := range stats {
				if stat.Name == "" || stat.Value == "" && stat.Warning == "" || seen[stat.Name] {
					t.Errorf("Stats has a line without a name, without a value, or twice: %+v", stat)
				}
				seen[stat.Name] = true
			}
			c.says("the store announces a report and it is empty", c.has(sdk.CanReport) && len(stats) == 0, false)
		},
	},
}

func cancelledBefore(ctx context.Context, t T) {
	c := on(ctx, t)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	late, cancel := context.WithTimeout(ctx, -time.Second)
	defer cancel()
	c.set(c.key("k"), "before", sdk.NoExpiry)
	for _, op := range c.offered() {
		if err := op.call(cancelled, c.Store, c.key("k")); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v; want context.Canceled", op.name, err)
		}
		if err := op.call(late, c.Store, c.key("k")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s after its deadline: %v; want context.DeadlineExceeded", op.name, err)
		}
	}
	c.holds(c.key("k"), "before")
	c.misses(c.key("k2"))
	if c.has(sdk.CanLease) {
		c.lease(sdk.StrategyLease, c.key("k")).acquires("somebody else")
	}
}

// cancelledDuring cancels calls at moments that differ from round to round.
func cancelledDuring(ctx context.Context, t T) {
	c := on(ctx, t)
	big := noise(256 << 10)
	if most := c.Traits().MaxValue; most > 0 && most < int64(len(big)) {
		big = big[:most]
	}
	calls := append(c.offered(), operation{"SetMany of large values", "", func(ctx context.Context, s Store, key string) error {
		return s.SetMany(ctx, []sdk.Entry{{Key: key, Value: big}, {Key: key + "2", Value: big}, {Key: key + "3", Value: big}})
	}})
	together(len(calls), func(i int) {
		for round := range 8 {
			cancelled, cancel := context.WithCancel(ctx)
			timer := time.AfterFunc(time.Duration(round*round)*20*time.Microsecond, cancel)
			err := calls[i].call(cancelled, c.Store, c.key(calls[i].name))
			timer.Stop()
			cancel()
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s, cancelled on its way: %v; want success or context.Canceled", calls[i].name, err)
			}
		}
	})
	c.set(c.key("k"), "after", sdk.NoExpiry)
	c.holds(c.key("k"), "after")
}

// coldStart writes one key that is not there yet, and one key of every caller's
// own, before anything else has made the backend ready.
func coldStart(ctx context.Context, t T) {
	c := on(ctx, t)
	stores := []Store{c.Store}
	if c.Traits().Class == sdk.ClassOverlap {
		stores = append(stores, c.another().Store)
	}
	keys := c.keys(callers, "k")
	together(callers, func(i int) {
		s := stores[i%len(stores)]
		for _, key := range []string{c.key("shared"), keys[i]} {
			if err := s.Set(ctx, key, []byte("v"), sdk.NoExpiry); err != nil {
				t.Errorf("a first Set, of %s: %v", show(key), err)
			}
		}
	})
	c.holds(c.key("shared"), "v")
	c.answers(keys, func(int) string { return "v" })
}

func closeDuringCalls(ctx context.Context, t T) {
	c := on(ctx, t)
	calls := c.offered()
	var started sync.WaitGroup
	var worked atomic.Int64
	var callersDone sync.WaitGroup
	for i := range callers {
		started.Add(1)
		callersDone.Go(func() {
			begun := sync.OnceFunc(started.Done)
			defer begun()
			for n := 0; ; n++ {
				op := calls[(i+n)%len(calls)]
				err := op.call(ctx, c.Store, c.key(fmt.Sprint(op.name, i)))
				begun()
				if errors.Is(err, sdk.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("%s while the store closes: %v; want success or ErrClosed", op.name, err)
					return
				}
				worked.Add(1)
			}
		})
	}
	started.Wait()
	if err := c.Close(ctx); err != nil {
		t.Errorf("Close while calls are under way: %v", err)
	}
	callersDone.Wait()
	if worked.Load() == 0 {
		t.Errorf("no call has worked before Close")
	}
}

func reopenKeeps(ctx context.Context, t T) {
	c := on(ctx, t)
	c.set(c.key("forever"), "v", sdk.NoExpiry)
	c.set(c.key("hour"), "v", time.Hour)
	c.set(c.key("empty"), "", sdk.NoExpiry)
	c.set(c.key("binary"), "\x00\xff\r\n", sdk.NoExpiry)
	c.set(c.key("deleted"), "v", sdk.NoExpiry)
	c.delete(c.key("deleted"))
	if c.has(sdk.CanIncrement) {
		c.counts(c.key("counter"), 41, 41)
	}
	start := time.Now()
	c.set(c.key("short"), "v", c.soon())
	c = c.reopen()
	if _, ok := c.get(c.key("short")); !ok && time.Since(start) < c.soon() {
		t.Errorf("an entry with a TTL of %v did not survive a reopening of %v", c.soon(), time.Since(start))
	}
	c.holds(c.key("forever"), "v")
	c.lives(c.key("forever"), sdk.NoExpiry)
	c.holds(c.key("hour"), "v")
	c.lives(c.key("hour"), time.Hour)
	c.holds(c.key("empty"), "")
	c.holds(c.key("binary"), "\x00\xff\r\n")
	c.misses(c.key("deleted"))
	c.gone(c.key("short"))
	if c.has(sdk.CanIncrement) {
		c.counts(c.key("counter"), 1, 42)
	}
}

func reopenKeepsLeases(ctx context.Context, t T) {
	c := on(ctx, t)
	fences := make(map[string]uint64)
	c.eachStrategy(func(l lease) { fences[l.strategy] = l.attempt("owner", longLease).Fence })
	c = c.reopen()
	c.eachStrategy(func(l lease) {
		l.refuses("other")
		l.releases("owner", true)
		g := l.attempt("other", longLease)
		if l.strategy == sdk.StrategyExclusive && g.Fence <= fences[l.strategy] {
			t.Errorf("after a reopening the fence is %d; it was %d", g.Fence, fences[l.strategy])
		}
	})
}
