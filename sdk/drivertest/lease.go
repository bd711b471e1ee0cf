package drivertest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A lease is one lock of a store.
type lease struct {
	check
	strategy, key string
}

func (c check) lease(strategy, key string) lease { return lease{c, strategy, key} }

// strategies are those that the store's leases can carry.
func (c check) strategies() []string {
	if c.has(sdk.CanRenewLease) {
		return []string{sdk.StrategyLease, sdk.StrategyExclusive}
	}
	return []string{sdk.StrategyLease}
}

func (c check) eachStrategy(run func(l lease)) {
	for _, strategy := range c.strategies() {
		run(c.lease(strategy, c.key("lock of "+strategy)))
	}
}

// confined excuses stores whose leases reach no second process.
func confined(tr sdk.Traits) string {
	if why := unshared(tr); why != "" {
		return why
	}
	if tr.LockScope == sdk.ScopeHost || tr.LockScope == sdk.ScopeCluster {
		return ""
	}
	return fmt.Sprintf("the store's locks have scope %q", tr.LockScope)
}

func (l lease) request(owner string, d time.Duration) sdk.LeaseRequest {
	r := sdk.LeaseRequest{Strategy: l.strategy, Key: l.key, Owner: owner, Lease: d}
	if l.strategy == sdk.StrategyLease {
		r.Clock = sdk.DriverClock
	}
	return r
}

func (l lease) attempt(owner string, d time.Duration) sdk.LeaseGrant {
	g, err := l.AcquireLease(l.ctx, l.request(owner, d))
	if err != nil {
		l.t.Fatalf("%s: AcquireLease(%s): %v", l.strategy, show(l.key), err)
	}
	return g
}

func (l lease) acquires(owner string) {
	l.says(l.strategy+": AcquireLease for "+show(owner), l.attempt(owner, longLease).OK, true)
}

func (l lease) refuses(owner string) {
	l.says(l.strategy+": AcquireLease for "+show(owner)+" of a taken lock", l.attempt(owner, longLease).OK, false)
}

func (l lease) releases(owner string, want bool) {
	got, err := l.ReleaseLease(l.ctx, l.request(owner, longLease))
	if err != nil {
		l.t.Fatalf("%s: ReleaseLease(%s): %v", l.strategy, show(l.key), err)
	}
	l.says(l.strategy+": ReleaseLease for "+show(owner), got, want)
}

func (l lease) renew(owner string, d time.Duration) sdk.LeaseGrant {
	g, err := l.RenewLease(l.ctx, l.request(owner, d))
	if err != nil {
		l.t.Fatalf("%s: RenewLease(%s): %v", l.strategy, show(l.key), err)
	}
	return g
}

// expire leaves an expired lease behind, and fails if it ends too early.
func (l lease) expire() {
	start := time.Now()
	l.says(l.strategy+": AcquireLease", l.attempt("late", l.soon()).OK, true)
	l.eventually("a renewal or another's wish finds the lease ended", func() bool {
		g := l.attempt("probe", l.Traits().Granularity)
		if took := time.Since(start); g.OK && took < l.soon() {
			l.t.Errorf("%s: a lease of %v was granted to another after %v", l.strategy, l.soon(), took)
		}
		return g.OK
	})
	time.Sleep(2 * l.Traits().Granularity)
}

// race lets callers of two stores attempt at once, and releases the winner.
func (l lease) race(other lease) {
	var wins atomic.Int64
	var winner atomic.Value
	together(callers, func(i int) {
		s := l.Store
		if i%2 == 1 {
			s = other.Store
		}
		owner := fmt.Sprintf("caller %d", i)
		g, err := s.AcquireLease(l.ctx, l.request(owner, longLease))
		if err != nil {
			l.t.Errorf("%s: AcquireLease: %v", l.strategy, err)
		}
		if g.OK {
			wins.Add(1)
			winner.Store(owner)
		}
	})
	if wins.Load() != 1 {
		l.t.Fatalf("%s: %d of %d attempts at once won; want 1", l.strategy, wins.Load(), callers)
	}
	l.releases(winner.Load().(string), true)
}
