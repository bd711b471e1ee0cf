package drivertest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var takeCases = []Case{
	{
		Name:  "atomic/pull",
		Rule:  "Pull returns the value and removes it.",
		Needs: []sdk.Capability{sdk.CanPull},
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.set(c.key("k"), "v", sdk.NoExpiry)
			for _, want := range []bool{true, false} {
				value, ok, err := c.Pull(ctx, c.key("k"))
				if err != nil || ok != want || ok && string(value) != "v" {
					t.Errorf("Pull = %s, %t, %v; want a hit: %t", show(value), ok, err, want)
				}
				c.misses(c.key("k"))
			}
		},
	},
	{
		Name:  "atomic/pull-race",
		Rule:  "Of any number of Pulls at once one receives the value.",
		Needs: []sdk.Capability{sdk.CanPull},
		Run:   pullRace,
	},
	{
		Name:  "atomic/pull-against-add",
		Rule:  "While one caller adds and others pull, every value is received once: none twice, none lost.",
		Needs: []sdk.Capability{sdk.CanPull, sdk.CanAdd},
		Run:   pullAgainstAdd,
	},
	{
		Name:  "atomic/compare-delete",
		Rule:  "CompareDelete removes the entry only while it holds exactly the value.",
		Needs: []sdk.Capability{sdk.CanCompareDelete},
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.says("CompareDelete of an absent key", c.compareDelete(c.key("k"), ""), false)
			c.set(c.key("k"), "token", sdk.NoExpiry)
			for _, other := range []string{"", "toke", "token ", "token\x00", "Token", "other"} {
				c.says("CompareDelete with "+show(other), c.compareDelete(c.key("k"), other), false)
				c.holds(c.key("k"), "token")
			}
			c.says("CompareDelete with the value", c.compareDelete(c.key("k"), "token"), true)
			c.misses(c.key("k"))
		},
	},
	{
		Name:  "atomic/compare-delete-race",
		Rule:  "CompareDelete with an old value never removes the new one that a Set is storing.",
		Needs: []sdk.Capability{sdk.CanCompareDelete},
		Run:   compareDeleteRace,
	},
}

func pullRace(ctx context.Context, t T) {
	c := on(ctx, t)
	for _, key := range c.keys(8, "k") {
		c.set(key, "one-shot", sdk.NoExpiry)
		var wins atomic.Int64
		together(callers, func(int) {
			value, ok, err := c.Pull(ctx, key)
			if err != nil {
				t.Errorf("Pull: %v", err)
			}
			if ok {
				wins.Add(1)
				if string(value) != "one-shot" {
					t.Errorf("Pull = %s; want the value", show(value))
				}
			}
		})
		if wins.Load() != 1 {
			t.Errorf("%d of %d Pulls at once received the value; want 1", wins.Load(), callers)
		}
		c.misses(key)
	}
}

func pullAgainstAdd(ctx context.Context, t T) {
	c := on(ctx, t)
	const values = 50
	var received [values]atomic.Int64
	var left atomic.Int64
	left.Store(values)
	end := time.Now().Add(patience)
	together(5, func(i int) {
		for n := 0; i == 0 && n < values && time.Now().Before(end); {
			added, err := c.Add(ctx, c.key("k"), sdk.FormatInteger(int64(n)), sdk.NoExpiry)
			if err != nil {
				t.Errorf("Add: %v", err)
				left.Store(0)
				return
			}
			if added {
				n++
			}
		}
		for i > 0 && left.Load() > 0 && time.Now().Before(end) {
			value, ok, err := c.Pull(ctx, c.key("k"))
			if err != nil {
				t.Errorf("Pull: %v", err)
				return
			}
			if n, isNumber := sdk.ParseInteger(value); ok && isNumber {
				received[n].Add(1)
				left.Add(-1)
			}
		}
	})
	for n := range received {
		if times := received[n].Load(); times != 1 {
			t.Errorf("value %d was received %d times", n, times)
		}
	}
}

func compareDeleteRace(ctx context.Context, t T) {
	c := on(ctx, t)
	for _, key := range c.keys(40, "k") {
		c.set(key, "old", sdk.NoExpiry)
		together(8, func(i int) {
			var err error
			if i == 0 {
				err = c.Set(ctx, key, []byte("new"), sdk.NoExpiry)
			} else {
				_, err = c.CompareDelete(ctx, key, []byte("old"))
			}
			if err != nil {
				t.Errorf("Set or CompareDelete: %v", err)
			}
		})
		c.holds(key, "new")
	}
}
