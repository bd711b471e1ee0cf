package drivertest

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var sharingCases = []Case{
	{
		Name: "life/reopen",
		Rule: "Closing and opening again keeps entries, counters and what is left of their TTL; what expired meanwhile is gone.",
		Except: func(tr sdk.Traits) string {
			if tr.Class == sdk.ClassVolatile {
				return "the store is volatile"
			}
			return ""
		},
		Advice: adviceVolatile,
		Run:    reopenKeeps,
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
		Advice: adviceConfined,
		Run:    reopenKeepsLeases,
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
		Advice: adviceShared,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			other := c.another()
			for i := range 20 {
				value := fmt.Sprint(i)
				c.set(c.key("k"), value, sdk.NoExpiry)
				if got, ok := other.get(c.key("k")); !ok || got != value {
					t.Fatalf("the other's Get(%s) = %s, %t after Set(%s) here", show(c.key("k")), show(got), ok, show(value))
				}
				if !other.delete(c.key("k")) {
					t.Fatalf("the other's Delete(%s) = false after Set here", show(c.key("k")))
				}
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
		Name:   "life/cold-start",
		Rule:   "The first calls of a store that has just been opened work, however many come at once and from wherever.",
		Advice: adviceShared,
		Run:    coldStart,
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
}

// What a store announces that the rules of a shared one would fail.
const (
	adviceVolatile = "a store whose data ends with it, as in memory, announces Traits.Class: sdk.ClassVolatile."
	adviceConfined = "a store whose locks are its process's own announces Traits.LockScope: sdk.ScopeProcess."
	adviceShared   = adviceVolatile + " One whose data only one may have open announces sdk.ClassExclusive, and refuses the second."
)

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
