package drivertest

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// longLease outlives any case.
const longLease = 10 * time.Minute

var leasing = []sdk.Capability{sdk.CanLease}

var leaseCases = []Case{
	{
		Name:  "lease/acquire",
		Rule:  "One attempt takes a lock that is free or already this owner's, and leaves another's live lease as it is.",
		Needs: leasing,
		Run: func(ctx context.Context, t T) {
			on(ctx, t).eachStrategy(func(l lease) {
				l.acquires("first")
				l.refuses("second")
				l.acquires("first")
				l.refuses("second")
				l.releases("first", true)
				l.acquires("second")
				l.refuses("first")
			})
		},
	},
	{
		Name:  "lease/expired",
		Rule:  "A lease ends by itself, not before its time; then anybody may take the lock, and the late owner can't release it.",
		Needs: leasing,
		Run:   leaseExpires,
	},
	{
		Name:  "lease/race",
		Rule:  "Of any number of attempts at once on a free lock one wins.",
		Needs: leasing,
		Run: func(ctx context.Context, t T) {
			on(ctx, t).eachStrategy(func(l lease) { l.race(l) })
		},
	},
	{
		Name:  "lease/race-expired",
		Rule:  "Of any number of attempts at once on an expired lease one wins.",
		Needs: leasing,
		Run: func(ctx context.Context, t T) {
			on(ctx, t).eachStrategy(func(l lease) {
				for range 2 {
					l.expire()
					l.race(l)
				}
			})
		},
	},
	{
		Name:   "lease/race-between-processes",
		Rule:   "Of any number of attempts at once one wins, whichever process they come from.",
		Needs:  leasing,
		Except: confined,
		Advice: adviceConfined,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			other := c.another()
			c.eachStrategy(func(l lease) { l.race(lease{other, l.strategy, l.key}) })
		},
	},
	{
		Name:  "lease/release",
		Rule:  "Release ends the lease of its owner and of nobody else, and says whether it did.",
		Needs: leasing,
		Run: func(ctx context.Context, t T) {
			on(ctx, t).eachStrategy(func(l lease) {
				l.releases("owner", false)
				l.acquires("owner")
				for _, other := range []string{"other", "", "Owner", "owner ", "owne", "%", "*"} {
					l.releases(other, false)
				}
				l.refuses("other")
				l.releases("owner", true)
				l.releases("owner", false)
			})
		},
	},
	{
		Name:  "lease/remaining",
		Rule:  "A grant says how long it lasts, a refusal how long the other's lease will.",
		Needs: leasing,
		Run: func(ctx context.Context, t T) {
			on(ctx, t).eachStrategy(func(l lease) {
				l.acquires("owner")
				if g := l.attempt("owner", longLease); !g.OK || !about(g.Remaining, longLease) {
					t.Errorf("%s: a grant of %v: OK %t, remaining %v", l.strategy, longLease, g.OK, g.Remaining)
				}
				if g := l.attempt("other", time.Minute); g.OK || g.Remaining != 0 && !about(g.Remaining, longLease) {
					t.Errorf("%s: a refusal for a lease of %v: OK %t, remaining %v", l.strategy, longLease, g.OK, g.Remaining)
				}
			})
		},
	},
	{
		Name:  "lease/far",
		Rule:  "A lease of months or years is one: no deadline overflows.",
		Needs: leasing,
		Run: func(ctx context.Context, t T) {
			on(ctx, t).eachStrategy(func(l lease) {
				const day = 24 * time.Hour
				for _, d := range []time.Duration{25 * day, 31 * day, 50 * day, 100 * 365 * day} {
					if g := l.attempt("owner", d); !g.OK || !about(g.Remaining, d) {
						t.Errorf("%s: a grant of %v: OK %t, remaining %v", l.strategy, d, g.OK, g.Remaining)
					}
					l.refuses("other")
				}
				l.releases("owner", true)
			})
		},
	},
	{
		Name:  "lease/renew",
		Rule:  "Renew prolongs a live lease of its owner; one that has ended, is another's or never was stays as it is.",
		Needs: []sdk.Capability{sdk.CanLease, sdk.CanRenewLease},
		Run:   leaseRenew,
	},
	{
		Name:  "lease/fence",
		Rule:  "Under exclusive the fence rises strictly from owner to owner, over releases and expiries, and a renewal keeps it; under lease it is 0.",
		Needs: leasing,
		Run:   leaseFence,
	},
	{
		Name:   "lease/fence-between-processes",
		Rule:   "The fence rises strictly whichever process asks.",
		Needs:  []sdk.Capability{sdk.CanLease, sdk.CanRenewLease},
		Except: confined,
		Advice: adviceConfined,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			stores := []check{c, c.another()}
			var last uint64
			for i := range 20 {
				l := lease{stores[i%2], sdk.StrategyExclusive, c.key("k")}
				last = l.rises("owner", last)
				l.releases("owner", true)
			}
		},
	},
	{
		Name:  "lease/name-spaces",
		Rule:  "Strategies have separate name spaces, and locks and entries too: none is seen or touched through another.",
		Needs: leasing,
		Run:   leaseNameSpaces,
	},
	{
		Name:  "lease/keys",
		Rule:  "Locks are told apart as entries are: by bytes, whatever they spell.",
		Needs: leasing,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			names := append(append([]string{}, likeKeys...), "/", "../x", "*", "%", "a\nb", "'", `"`, "a/b", "a/b/c", "a")
			for _, strategy := range c.strategies() {
				for _, name := range names {
					c.lease(strategy, c.key(name)).acquires("owner of " + name)
				}
				c.lease(strategy, c.sized(c.Traits().MaxKey, "x")).acquires("owner of x")
				c.lease(strategy, c.sized(c.Traits().MaxKey, "y")).acquires("owner of y")
				for _, name := range names {
					c.lease(strategy, c.key(name)).refuses("other")
					c.lease(strategy, c.key(name)).releases("owner of "+name, true)
				}
			}
		},
	},
}

// about tells whether left is what a moment later is left of whole.
func about(left, whole time.Duration) bool { return left <= whole && left > whole-slack }

func leaseExpires(ctx context.Context, t T) {
	on(ctx, t).eachStrategy(func(l lease) {
		l.expire()
		l.acquires("next")
		l.releases("late", false)
		l.refuses("late")
		l.releases("next", true)
	})
}

func leaseRenew(ctx context.Context, t T) {
	on(ctx, t).eachStrategy(func(l lease) {
		l.says("RenewLease of a free lock", l.renew("owner", longLease).OK, false)
		l.acquires("other")
		l.releases("other", true)

		short := l.inTime("RenewLease", func(d time.Duration) bool {
			l.attempt("owner", d)
			l.says("RenewLease of another's lease", l.renew("other", longLease).OK, false)
			g := l.renew("owner", longLease)
			if g.OK && !about(g.Remaining, longLease) {
				t.Errorf("%s: RenewLease for %v: remaining %v", l.strategy, longLease, g.Remaining)
			}
			return g.OK
		})
		time.Sleep(short)
		l.refuses("other")
		l.releases("owner", true)

		l.expire()
		l.says("RenewLease of a lease that has ended", l.renew("late", longLease).OK, false)
		l.acquires("other")
		l.says("RenewLease of a lost lease", l.renew("late", longLease).OK, false)
		l.releases("other", true)
	})
}

// rises takes the lock and fails unless the fence is above last.
func (l lease) rises(owner string, last uint64) uint64 {
	g := l.attempt(owner, longLease)
	if !g.OK || g.Fence <= last {
		l.t.Errorf("a grant after fence %d: OK %t, fence %d", last, g.OK, g.Fence)
	}
	return g.Fence
}

func leaseFence(ctx context.Context, t T) {
	c := on(ctx, t)
	if g := c.lease(sdk.StrategyLease, c.key("k")).attempt("owner", longLease); !g.OK || g.Fence != 0 {
		t.Errorf("under lease: OK %t, fence %d; want true, 0", g.OK, g.Fence)
	}
	if !c.has(sdk.CanRenewLease) {
		return
	}
	l := c.lease(sdk.StrategyExclusive, c.key("k"))
	var last uint64
	for range 20 {
		last = l.rises("owner", last)
		if g := l.renew("owner", longLease); g.Fence != last {
			t.Errorf("a renewal changes fence %d to %d", last, g.Fence)
		}
		l.releases("owner", true)
	}
	for range 3 {
		l.expire()
		last = l.rises("owner", last)
		l.releases("owner", true)
	}
}

func leaseNameSpaces(ctx context.Context, t T) {
	c := on(ctx, t)
	key := c.key("k")
	c.set(key, "value", sdk.NoExpiry)
	for _, strategy := range c.strategies() {
		c.lease(strategy, key).acquires("owner of " + strategy)
	}
	for _, strategy := range c.strategies() {
		c.lease(strategy, key).refuses("other")
	}
	c.holds(key, "value")
	for _, name := range []string{key + "-lock", key + ":lock", key + ".lock", "lock:" + key} {
		c.misses(name)
	}
	c.says("Delete of the entry", c.delete(key), true)
	c.misses(key)
	if c.has(sdk.CanList) {
		c.lists(key)
	}
	if c.has(sdk.CanAdd) {
		c.says("Add beside the locks", c.add(key, "again", sdk.NoExpiry), true)
	}
	for _, strategy := range c.strategies() {
		c.lease(strategy, key).refuses("other")
		c.lease(strategy, key).releases("owner of "+strategy, true)
		c.lease(strategy, key).acquires("other")
	}
}
