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
