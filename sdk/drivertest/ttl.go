package drivertest

import (
	"context"
	"math"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var ttlCases = []Case{
	{
		Name: "ttl/none",
		Rule: "An entry without expiry stays, and says so.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.set(c.key("k"), "v", sdk.NoExpiry)
			c.lives(c.key("k"), sdk.NoExpiry)
			time.Sleep(c.soon())
			c.holds(c.key("k"), "v")
		},
	},
	{
		Name: "ttl/expires",
		Rule: "An entry is a hit until its TTL has passed, never less, and a miss soon after.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.expires(c.key("k"), c.soon(), func(ttl time.Duration) { c.set(c.key("k"), "v", ttl) })
		},
	},
	{
		Name: "ttl/one-step",
		Rule: "The shortest TTL, one step of the granularity, expires: it is neither for ever nor rounded to nothing.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			for range 20 {
				c.expires(c.key("k"), c.Traits().Granularity, func(ttl time.Duration) { c.set(c.key("k"), "v", ttl) })
			}
		},
	},
	{
		Name: "ttl/few-steps",
		Rule: "A TTL of a few steps is kept to the step: it is not rounded to a coarser unit.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			for _, steps := range []time.Duration{2, 3, 7, 50} {
				c.expires(c.key("k"), steps*c.Traits().Granularity, func(ttl time.Duration) { c.set(c.key("k"), "v", ttl) })
			}
		},
	},
	{
		Name: "ttl/far",
		Rule: "Far deadlines work: around 30 days, past 2038, a hundred years, the longest duration there is.",
		Run:  farDeadlines,
	},
	{
		Name: "ttl/overwrite",
		Rule: "Set replaces the expiry with the value: an earlier TTL neither ends a later entry nor saves it.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.set(c.key("forever"), "old", c.soon())
			c.set(c.key("forever"), "new", sdk.NoExpiry)
			c.set(c.key("longer"), "old", c.soon())
			c.set(c.key("longer"), "new", time.Hour)
			c.set(c.key("witness"), "v", c.soon())
			c.expires(c.key("shorter"), c.soon(), func(ttl time.Duration) {
				c.set(c.key("shorter"), "old", time.Hour)
				c.set(c.key("shorter"), "new", ttl)
			})
			c.gone(c.key("witness"))
			c.holds(c.key("forever"), "new")
			c.holds(c.key("longer"), "new")
		},
	},
	{
		Name: "ttl/expired-is-absent",
		Rule: "For every operation an expired entry is an absent one, whether or not it has been swept.",
		Run:  expiredIsAbsent,
	},
	{
		Name: "ttl/stale-read",
		Rule: "A read of an expired entry must not remove a value that another writer has just stored.",
		Run:  staleRead,
	},
	{
		Name:  "ttl/inspect",
		Rule:  "TTL answers with what is left: at most the TTL given, and for an entry that expires never 0, which means for ever.",
		Needs: []sdk.Capability{sdk.CanInspect},
		Run:   inspect,
	},
	{
		Name:  "ttl/touch",
		Rule:  "Touch gives a live entry a new expiry, keeps its value, and creates nothing.",
		Needs: []sdk.Capability{sdk.CanInspect},
		Run:   touch,
	},
	{
		Name:  "ttl/add-and-replace",
		Rule:  "Add and Replace set the expiry as Set does.",
		Needs: []sdk.Capability{sdk.CanAdd, sdk.CanReplace},
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.expires(c.key("added"), c.soon(), func(ttl time.Duration) {
				c.says("Add", c.add(c.key("added"), "v", ttl), true)
			})
			c.set(c.key("replaced"), "old", sdk.NoExpiry)
			c.expires(c.key("replaced"), c.soon(), func(ttl time.Duration) {
				c.says("Replace", c.replace(c.key("replaced"), "v", ttl), true)
			})
			time.Sleep(c.inTime("Replace", func(ttl time.Duration) bool {
				c.set(c.key("kept"), "old", ttl)
				return c.replace(c.key("kept"), "new", sdk.NoExpiry)
			}))
			c.holds(c.key("kept"), "new")
		},
	},
}

// expires lets write store key with ttl, and fails if the entry leaves before
// the TTL has passed or doesn't leave after it.
func (c check) expires(key string, ttl time.Duration, write func(ttl time.Duration)) {
	start := time.Now()
	write(ttl)
	c.eventually(expiry, func() bool {
		_, ok := c.get(key)
		if took := time.Since(start); !ok && took < ttl {
			c.t.Errorf("an entry with a TTL of %v was a miss after %v", ttl, took)
		}
		return !ok
	})
}

// lives fails unless key is live and, if the store can tell, has at most ttl
// left and not much less.
func (c check) lives(key string, ttl time.Duration) {
	if _, ok := c.get(key); !ok {
		c.t.Errorf("Get(%s) is a miss at once; it was stored with %s", show(key), lasting(ttl))
		return
	}
	if !c.has(sdk.CanInspect) {
		return
	}
	left, ok := c.ttl(key)
	if !ok || left > ttl || left < ttl-slack {
		c.t.Errorf("TTL = %v, %t for an entry that was just stored with %s", left, ok, lasting(ttl))
	}
}

func farDeadlines(ctx context.Context, t T) {
	const day = 24 * time.Hour
	c := on(ctx, t)
	step := c.Traits().Granularity
	for _, ttl := range []time.Duration{
		24*day + 20*time.Hour + 32*time.Minute, // 2^31 ms and some
		25 * day, 30*day - time.Second, 30 * day, 30*day + time.Second, 31 * day, 60 * day,
		time.Until(time.Date(2038, 1, 20, 0, 0, 0, 0, time.UTC)),
		70 * 365 * day, 100 * 365 * day, math.MaxInt64 - time.Second,
	} {
		ttl -= ttl % step
		c.set(c.key("k"), "v", ttl)
		c.lives(c.key("k"), ttl)
	}
}

func expiredIsAbsent(ctx context.Context, t T) {
	c := on(ctx, t)
	stale := func(name string) string {
		c.set(c.key(name), "1", c.soon())
		return c.key(name)
	}
	get, del, many := stale("get"), stale("delete"), stale("many")
	added, replaced, pulled := stale("add"), stale("replace"), stale("pull")
	compared, touched, asked := stale("compare"), stale("touch"), stale("ttl")
	c.gone(stale("last")) // the others are older

	c.misses(get)
	c.says("Delete of an expired entry", c.delete(del), false)
	if n, err := c.DeleteMany(ctx, []string{many}); n != 0 || err != nil {
		t.Errorf("DeleteMany of an expired entry = %d, %v; want 0, nil", n, err)
	}
	if found, err := c.GetMany(ctx, []string{get, many}); err != nil || found[0].OK || found[1].OK {
		t.Errorf("GetMany finds expired entries: %+v, %v", found, err)
	}
	if c.has(sdk.CanReplace) {
		c.says("Replace of an expired entry", c.replace(replaced, "new", sdk.NoExpiry), false)
		c.misses(replaced)
	}
	if c.has(sdk.CanPull) {
		_, ok, err := c.Pull(ctx, pulled)
		c.says("Pull of an expired entry", ok || err != nil, false)
	}
	if c.has(sdk.CanCompareDelete) {
		c.says("CompareDelete of an expired entry", c.compareDelete(compared, "1"), false)
	}
	if c.has(sdk.CanInspect) {
		_, ok := c.ttl(asked)
		c.says("TTL finds an expired entry", ok, false)
		c.says("Touch of an expired entry", c.touch(touched, time.Hour), false)
		c.misses(touched)
	}
	if c.has(sdk.CanAdd) {
		c.says("Add over an expired entry", c.add(added, "new", sdk.NoExpiry), true)
		c.holds(added, "new")
	}
}

// staleRead lets readers and one writer meet at entries that have just expired.
func staleRead(ctx context.Context, t T) {
	c := on(ctx, t)
	step := c.Traits().Granularity
	for range 5 {
		keys := c.keys(16, "k")
		for _, key := range keys {
			c.set(key, "stale", step)
		}
		c.gone(keys[len(keys)-1])
		together(4*len(keys), func(i int) {
			key := keys[i/4]
			if i%4 == 0 {
				if err := c.Set(ctx, key, []byte("fresh"), sdk.NoExpiry); err != nil {
					t.Errorf("Set: %v", err)
				}
				return
			}
			if _, _, err := c.Get(ctx, key); err != nil {
				t.Errorf("Get: %v", err)
			}
		})
		for _, key := range keys {
			c.holds(key, "fresh")
			c.delete(key)
		}
	}
}

func inspect(ctx context.Context, t T) {
	c := on(ctx, t)
	if ttl, ok := c.ttl(c.key("absent")); ok {
		t.Errorf("TTL of an absent key = %v, true; want false", ttl)
	}
	c.set(c.key("hour"), "v", time.Hour)
	c.lives(c.key("hour"), time.Hour)
	c.set(c.key("hour"), "v", sdk.NoExpiry)
	c.lives(c.key("hour"), sdk.NoExpiry)

	c.set(c.key("short"), "v", c.soon())
	c.eventually(expiry, func() bool {
		left, ok := c.ttl(c.key("short"))
		if ok && (left <= 0 || left > c.soon()) {
			t.Errorf("TTL = %v for a live entry that was given %v", left, c.soon())
		}
		return !ok
	})
}

func touch(ctx context.Context, t T) {
	c := on(ctx, t)
	c.says("Touch of an absent key", c.touch(c.key("absent"), time.Hour), false)
	c.misses(c.key("absent"))

	short := c.inTime("Touch", func(ttl time.Duration) bool {
		c.set(c.key("k"), "v", ttl)
		return c.touch(c.key("k"), time.Hour)
	})
	c.lives(c.key("k"), time.Hour)
	c.says("Touch to no expiry", c.touch(c.key("k"), sdk.NoExpiry), true)
	c.lives(c.key("k"), sdk.NoExpiry)
	time.Sleep(short)
	c.holds(c.key("k"), "v")
	c.expires(c.key("k"), c.soon(), func(ttl time.Duration) {
		c.says("Touch to a short TTL", c.touch(c.key("k"), ttl), true)
	})
}
