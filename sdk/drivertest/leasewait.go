package drivertest

import (
	"context"
	"errors"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var waiting = []sdk.Capability{sdk.CanLease, sdk.CanWaitLease}

var leaseWaitCases = []Case{
	{
		Name:  "wait/free",
		Rule:  "A wait for a free lock returns at once.",
		Needs: waiting,
		Run: func(ctx context.Context, t T) {
			on(ctx, t).eachStrategy(func(l lease) {
				soon, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				for range 2 {
					if err := l.WaitLease(soon, l.request("waiter", longLease)); err != nil {
						t.Errorf("%s: a wait for a free lock: %v", l.strategy, err)
					}
					l.acquires("holder")
					l.releases("holder", true)
				}
			})
		},
	},
	{
		Name:  "wait/release",
		Rule:  "A release wakes up those who wait, all or at least one.",
		Needs: waiting,
		Run: func(ctx context.Context, t T) {
			on(ctx, t).eachStrategy(func(l lease) {
				for range 5 {
					l.acquires("holder")
					l.waits(func() { l.releases("holder", true) })
				}
			})
		},
	},
	{
		Name:   "wait/release-between-processes",
		Rule:   "A release wakes up those who wait in another process.",
		Needs:  waiting,
		Except: confined,
		Advice: adviceConfined,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			other := c.another()
			c.eachStrategy(func(l lease) {
				l.acquires("holder")
				lease{other, l.strategy, l.key}.waits(func() { l.releases("holder", true) })
			})
		},
	},
	{
		Name:  "wait/expiry",
		Rule:  "The end of a lease that nobody releases ends the wait.",
		Needs: waiting,
		Run: func(ctx context.Context, t T) {
			on(ctx, t).eachStrategy(func(l lease) {
				l.attempt("holder", l.soon())
				l.waits(func() {})
			})
		},
	},
	{
		Name:  "wait/cancel",
		Rule:  "A wait ends with the caller's context, with its error, and leaves the holder alone.",
		Needs: waiting,
		Run: func(ctx context.Context, t T) {
			on(ctx, t).eachStrategy(func(l lease) {
				l.acquires("holder")
				cancelled, cancel := context.WithCancel(ctx)
				defer time.AfterFunc(30*time.Millisecond, cancel).Stop()
				l.waitEnds(cancelled, context.Canceled)
				late, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
				defer cancel()
				l.waitEnds(late, context.DeadlineExceeded)
				l.refuses("other")
			})
		},
	},
	{
		Name:  "wait/close",
		Rule:  "Close ends waits with ErrClosed.",
		Needs: waiting,
		Run: func(ctx context.Context, t T) {
			c := on(ctx, t)
			l := c.lease(sdk.StrategyLease, c.key("k"))
			l.acquires("holder")
			closing := make(chan error, 1)
			time.AfterFunc(30*time.Millisecond, func() { closing <- c.Close(ctx) })
			l.waitEnds(ctx, sdk.ErrClosed)
			if err := <-closing; err != nil {
				t.Errorf("Close while a wait is under way: %v", err)
			}
		},
	},
}

// waits fails unless a waiter gets the lock after free. A waiter may be woken
// too early; then it waits again.
func (l lease) waits(free func()) {
	got := make(chan error, 1)
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	go func() {
		for {
			g, err := l.AcquireLease(ctx, l.request("waiter", longLease))
			if err != nil || g.OK {
				got <- err
				return
			}
			if err := l.WaitLease(ctx, l.request("waiter", longLease)); err != nil {
				got <- err
				return
			}
		}
	}()
	time.Sleep(5 * time.Millisecond) // so that the waiter waits, most often
	free()
	if err := <-got; err != nil {
		l.t.Fatalf("%s: a waiter did not get the lock within %v: %v", l.strategy, patience, err)
	}
	l.releases("waiter", true)
}

// waitEnds waits until the wait ends with an error, which must be want.
func (l lease) waitEnds(ctx context.Context, want error) {
	ended := make(chan error, 1)
	go func() {
		for {
			if err := l.WaitLease(ctx, l.request("waiter", longLease)); err != nil || ctx.Err() != nil {
				ended <- err
				return
			}
		}
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, want) {
			l.t.Errorf("%s: the wait ended with %v; want %v", l.strategy, err, want)
		}
	case <-time.After(patience):
		l.t.Fatalf("%s: the wait has not ended with %v within %v", l.strategy, want, patience)
	}
}
