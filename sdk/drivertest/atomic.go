package drivertest

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// callers is how many callers race.
const callers = 64

var atomicCases = []Case{
	{
		Name: "atomic/one-key",
		Rule: "64 writers and as many readers on one key: a read finds one writer's whole value, never a mixture.",
		Run:  oneKey,
	},
	{
		Name:  "atomic/add",
		Rule:  "Add stores where nothing is, reports it, and leaves a live entry and its expiry alone.",
		Needs: []sdk.Capability{sdk.CanAdd},
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.says("Add to a free key", c.add(c.key("k"), "first", sdk.NoExpiry), true)
			c.says("Add to a taken key", c.add(c.key("k"), "second", c.soon()), false)
			c.lives(c.key("k"), sdk.NoExpiry)
			c.holds(c.key("k"), "first")
			c.delete(c.key("k"))
			c.says("Add after Delete", c.add(c.key("k"), "third", sdk.NoExpiry), true)
			c.holds(c.key("k"), "third")
		},
	},
	{
		Name:  "atomic/add-race",
		Rule:  "Of any number of Adds at once one wins, with and without a TTL, and the entry is the winner's.",
		Needs: []sdk.Capability{sdk.CanAdd},
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			for _, ttl := range ttls {
				c.addRace(c.keys(3, "k"), ttl, c)
			}
		},
	},
	{
		Name:   "atomic/add-race-between-processes",
		Rule:   "Of any number of Adds at once one wins, whichever process they come from.",
		Needs:  []sdk.Capability{sdk.CanAdd},
		Except: unshared,
		Advice: adviceShared,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.addRace(c.keys(4, "k"), sdk.NoExpiry, c.another())
		},
	},
	{
		Name:  "atomic/add-over-expired",
		Rule:  "Of any number of Adds at once over an entry that has expired one wins.",
		Needs: []sdk.Capability{sdk.CanAdd},
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			keys := c.keys(4, "k")
			for _, key := range keys {
				c.set(key, "stale", c.Traits().Granularity)
			}
			c.gone(keys[len(keys)-1])
			c.addRace(keys, sdk.NoExpiry, c)
		},
	},
	{
		Name:  "atomic/replace",
		Rule:  "Replace overwrites a live entry and creates none.",
		Needs: []sdk.Capability{sdk.CanReplace},
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.says("Replace of an absent key", c.replace(c.key("k"), "v", sdk.NoExpiry), false)
			c.misses(c.key("k"))
			c.set(c.key("k"), "old", sdk.NoExpiry)
			c.says("Replace of a live entry", c.replace(c.key("k"), "new", sdk.NoExpiry), true)
			c.holds(c.key("k"), "new")
		},
	},
	{
		Name:  "atomic/replace-race",
		Rule:  "A Replace that meets a Delete doesn't bring the entry back.",
		Needs: []sdk.Capability{sdk.CanReplace},
		Run:   replaceRace,
	},
}

// ttls are the two ways to store: without expiry and with.
var ttls = []time.Duration{sdk.NoExpiry, time.Hour}

// unshared excuses stores whose data a second process can't open.
func unshared(tr sdk.Traits) string {
	if tr.Class == sdk.ClassOverlap {
		return ""
	}
	return fmt.Sprintf("the store is %s: two processes don't share its data", tr.Class)
}

func oneKey(ctx context.Context, t T) {
	c := on(ctx, t)
	const size, rounds = 4 << 10, 3
	c.Set(ctx, c.key("k"), bytes.Repeat([]byte{'a'}, size), sdk.NoExpiry)
	together(2*callers, func(i int) {
		mine := bytes.Repeat([]byte{byte('!' + i/2)}, size+i/2)
		for range rounds {
			if i%2 == 0 {
				if err := c.Set(ctx, c.key("k"), mine, sdk.NoExpiry); err != nil {
					t.Errorf("Set: %v", err)
				}
				continue
			}
			value, ok, err := c.Get(ctx, c.key("k"))
			if err != nil || !ok {
				t.Errorf("Get = %t, %v; want a hit", ok, err)
				continue
			}
			whole(t, value, size)
		}
	})
	value, _ := c.get(c.key("k"))
	whole(t, []byte(value), size)
}

// whole fails unless value is one writer's: its length tells which letter.
func whole(t T, value []byte, size int) {
	if len(value) == size && bytes.Count(value, []byte{'a'}) == size {
		return
	}
	letter := byte('!' + len(value) - size)
	if len(value) < size || bytes.Count(value, []byte{letter}) != len(value) {
		t.Errorf("a read found a mixture of two values, %d bytes that start with %s", len(value), show(value[:min(len(value), 8)]))
	}
}

// addRace lets callers of two stores add to each key at once.
func (c check) addRace(keys []string, ttl time.Duration, other check) {
	for _, key := range keys {
		var wins atomic.Int64
		var winner atomic.Value
		together(callers, func(i int) {
			s := c.Store
			if i%2 == 1 {
				s = other.Store
			}
			mine := fmt.Sprintf("caller %d", i)
			added, err := s.Add(c.ctx, key, []byte(mine), ttl)
			if err != nil {
				c.t.Errorf("Add: %v", err)
			}
			if added {
				wins.Add(1)
				winner.Store(mine)
			}
		})
		if wins.Load() != 1 {
			c.t.Errorf("%d of %d Adds at once won; want 1", wins.Load(), callers)
			return
		}
		c.holds(key, winner.Load().(string))
		c.delete(key)
	}
}

func replaceRace(ctx context.Context, t T) {
	c := on(ctx, t)
	for _, key := range c.keys(40, "k") {
		c.set(key, "old", sdk.NoExpiry)
		together(8, func(i int) {
			var err error
			if i == 0 {
				_, err = c.Delete(ctx, key)
			} else {
				_, err = c.Replace(ctx, key, []byte("new"), sdk.NoExpiry)
			}
			if err != nil {
				t.Errorf("Delete or Replace: %v", err)
			}
		})
		c.misses(key)
	}
}
