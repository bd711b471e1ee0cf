package drivertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var clearing = []sdk.Capability{sdk.CanClear}

var clearCases = []Case{
	{
		Name:  "clear/prefix",
		Rule:  "Clear removes the keys that start with the prefix and nothing else.",
		Needs: clearing,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			in := []string{"app:", "app:1", "app:2", "app:app:1", "app:é"}
			out := []string{"app", "app2:1", "App:1", "apx:1", "xapp:1", "app;1"}
			c.clears("app:", in, out)
		},
	},
	{
		Name:  "clear/literal",
		Rule:  "A prefix to clear is text: wildcards in it match themselves only.",
		Needs: clearing,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			for i, wild := range wildcards {
				c.clears(fmt.Sprintf("%d%s", i, wild), []string{fmt.Sprintf("%d%s/in", i, wild)},
					[]string{fmt.Sprintf("%dx/out", i), fmt.Sprintf("%da/out", i), fmt.Sprintf("%dax/out", i), fmt.Sprintf("%d/out", i), fmt.Sprintf("%dA/out", i)})
			}
		},
	},
	{
		Name:  "clear/pages",
		Rule:  "A Clear of more than a thousand keys ends, and counts what it removed.",
		Needs: clearing,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			keys := c.keys(1200, "p")
			entries := make([]sdk.Entry, len(keys))
			for i, key := range keys {
				entries[i] = sdk.Entry{Key: key, Value: []byte("v")}
			}
			if err := c.SetMany(ctx, entries); err != nil {
				t.Fatalf("SetMany: %v", err)
			}
			c.set(c.key("q"), "v", sdk.NoExpiry)
			if removed := c.clear(c.key("p")); removed != len(keys) {
				t.Errorf("Clear of %d keys says that it removed %d", len(keys), removed)
			}
			c.answers(keys, func(int) string { return "" })
			c.holds(c.key("q"), "v")
		},
	},
	{
		Name:  "clear/under-writes",
		Rule:  "Clear ends while others write under the prefix, and removes what was there before.",
		Needs: clearing,
		Run:   clearUnderWrites,
	},
	{
		Name:  "clear/everything",
		Rule:  "An empty prefix removes every entry of the store.",
		Needs: clearing,
		Alone: true,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			keys := []string{c.key("a"), c.key("é"), t.Unique(), "*" + t.Unique()}
			for _, key := range keys {
				c.set(key, "v", sdk.NoExpiry)
			}
			c.clear("")
			c.answers(keys, func(int) string { return "" })
			c.clear("")
		},
	},
	{
		Name:  "clear/leases-stay",
		Rule:  "Clear removes entries; leases stay with their owners.",
		Needs: []sdk.Capability{sdk.CanClear, sdk.CanLease},
		Alone: true,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			for _, strategy := range c.strategies() {
				l := c.lease(strategy, c.key("p:lock"))
				l.acquires("owner")
				c.set(l.key, "v", sdk.NoExpiry)
				c.clear(c.key("p"))
				c.misses(l.key)
				l.refuses("other")
				c.clear("")
				l.refuses("other")
			}
		},
	},
}

// clear clears all pages and returns how many entries they removed.
func (c check) clear(prefix string) (removed int) {
	var cursor []byte
	for end := time.Now().Add(patience); time.Now().Before(end); {
		next, n, err := c.Clear(c.ctx, prefix, cursor)
		if err != nil {
			c.t.Fatalf("Clear(%s): %v", show(prefix), err)
		}
		removed += n
		if cursor = next; len(cursor) == 0 {
			return removed
		}
	}
	c.t.Fatalf("Clear(%s) has not ended after %v", show(prefix), patience)
	return 0
}

// clears fails unless clearing the prefix removes the keys in and leaves out.
func (c check) clears(prefix string, in, out []string) {
	for _, name := range append(in[:len(in):len(in)], out...) {
		c.set(c.key(name), "v", sdk.NoExpiry)
	}
	if removed := c.clear(c.key(prefix)); removed != len(in) {
		c.t.Errorf("Clear(%s) says that it removed %d entries; want %d", show(c.key(prefix)), removed, len(in))
	}
	for _, name := range in {
		c.misses(c.key(name))
	}
	for _, name := range out {
		c.holds(c.key(name), "v")
	}
}

func clearUnderWrites(ctx context.Context, t T) {
	c := on(ctx, t)
	keys := c.keys(200, "p")
	for _, key := range keys {
		c.set(key, "v", sdk.NoExpiry)
	}
	writing, stop := context.WithCancel(ctx)
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for n := 0; writing.Err() == nil; n++ {
				key := c.key(fmt.Sprintf("p-new%d-%d", w, n%100))
				if err := c.Set(ctx, key, []byte(strings.Repeat("v", 100)), sdk.NoExpiry); err != nil {
					t.Errorf("Set: %v", err)
				}
			}
		})
	}
	defer writers.Wait()
	defer stop()
	c.clear(c.key("p"))
	c.answers(keys, func(int) string { return "" })
}
