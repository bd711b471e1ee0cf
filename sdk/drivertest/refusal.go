package drivertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var refusalCases = []Case{
	{
		Name: "announce/refused",
		Rule: "What a store did not announce fails with errors.ErrUnsupported and does nothing.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			c.set(c.key("k"), "1", sdk.NoExpiry)
			for _, op := range operations {
				if op.needs == "" || c.has(op.needs) {
					continue
				}
				if err := op.call(ctx, c.Store, c.key("k")); !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%s, which is not announced: %v; want errors.ErrUnsupported", op.name, err)
				}
			}
			c.holds(c.key("k"), "1")
		},
	},
	{
		Name: "announce/offered",
		Rule: "What a store announced is not refused as unsupported.",
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			for _, op := range c.offered() {
				within, cancel := context.WithTimeout(ctx, time.Second)
				if err := op.call(within, c.Store, c.key(op.name)); errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("%s, which is announced: %v", op.name, err)
				}
				cancel()
			}
		},
	},
	{
		Name: "announce/traits",
		Rule: "The announced traits are of the known words and can be carried by what else was announced.",
		Run:  saneTraits,
	},
}

func saneTraits(ctx context.Context, t T) {
	c := on(ctx, t)
	tr := c.Traits()
	known := func(what string, ok bool) {
		if !ok {
			t.Errorf("the announced traits have %s: %+v", what, tr)
		}
	}
	known("no granularity", tr.Granularity > 0)
	known("a longest key out of 1 to 1,024 bytes", tr.MaxKey >= 1 && tr.MaxKey <= 1024)
	known("a negative limit of values", tr.MaxValue >= 0)
	known("no shortest lease", tr.ShortestLease > 0)
	known("an unknown class", slices.Contains([]sdk.Class{sdk.ClassOverlap, sdk.ClassExclusive, sdk.ClassVolatile}, tr.Class))
	known("an unknown lock scope", slices.Contains([]sdk.Scope{sdk.ScopeNone, sdk.ScopeProcess, sdk.ScopeHost, sdk.ScopeCluster}, tr.LockScope))
	known("leases but no lock scope", !c.has(sdk.CanLease) || tr.LockScope != sdk.ScopeNone)
	known("waits or renewals without leases", c.has(sdk.CanLease) || !c.has(sdk.CanWaitLease) && !c.has(sdk.CanRenewLease))
	known("a redlock release that compares and no compare-delete", !tr.ReleaseCompares || c.has(sdk.CanCompareDelete))
	switch tr.LockStrategy {
	case "", sdk.StrategyLocal:
	case sdk.StrategyRedlock:
		known("redlock without add", c.has(sdk.CanAdd))
	case sdk.StrategyLease:
		known("lease without leases", c.has(sdk.CanLease))
	case sdk.StrategyExclusive:
		known("exclusive without leases that can be renewed", c.has(sdk.CanRenewLease))
	default:
		known("an unknown lock strategy", false)
	}
}
