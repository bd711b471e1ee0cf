package drivertest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

var lifeFaults = []fault{
	{"a wait hides its end", []string{"life/cancelled-during"}, vary(func(f *faulty) {
		f.get = func(ctx context.Context, key string) ([]byte, bool, error) {
			if sleep(ctx, time.Millisecond) != nil {
				return nil, false, errors.New("the connection broke")
			}
			return f.reference.Get(ctx, key)
		}
	})},
	{"a store panics", []string{"values/round-trip"}, vary(func(f *faulty) {
		f.get = func(context.Context, string) ([]byte, bool, error) { panic("oops") }
	})},
	{"stores cache what they read", []string{"life/shared", "atomic/add-race-between-processes"}, vary(func(f *faulty) { f.reference.disk = newDisk() })},
	{"data is lost at Close", []string{"life/reopen", "life/reopen-leases"}, vary(func(f *faulty) { f.reference.disk = newDisk() })},
	{"a volatile store persists", []string{"life/volatile"}, traits(func(tr *sdk.Traits) { tr.Class = sdk.ClassVolatile })},
	{"exclusive data opens twice", []string{"life/exclusive"}, traits(func(tr *sdk.Traits) { tr.Class = sdk.ClassExclusive })},
	{"a report has a line twice", []string{"life/ping-and-stats"}, vary(func(f *faulty) {
		f.stats = func(context.Context) ([]sdk.Stat, error) {
			return []sdk.Stat{{Name: "a", Value: "1"}, {Name: "a", Value: "2"}}, nil
		}
	})},
	{"an announced report is empty", []string{"life/ping-and-stats"}, vary(func(f *faulty) {
		f.stats = func(context.Context) ([]sdk.Stat, error) { return nil, nil }
	})},

	{"the first writers trip over each other", []string{"life/cold-start"}, vary(func(f *faulty) {
		var ready atomic.Bool
		f.set = func(ctx context.Context, key string, v []byte, ttl time.Duration) error {
			if !ready.Load() {
				pause()
				if ready.Swap(true) {
					return errors.New("the table exists already")
				}
			}
			return f.reference.Set(ctx, key, v, ttl)
		}
	})},
}

var announcementFaults = []fault{
	{"what is announced is refused", []string{"announce/offered"}, vary(func(f *faulty) {
		f.pull = func(context.Context, string) ([]byte, bool, error) { return nil, false, errors.ErrUnsupported }
	})},
	{"the class is unknown", []string{"announce/traits"}, traits(func(tr *sdk.Traits) { tr.Class = "shared" })},
	{"the lock strategy is unknown", []string{"announce/traits"}, traits(func(tr *sdk.Traits) { tr.LockStrategy = "mutex" })},
	{"leases reach nowhere", []string{"announce/traits"}, traits(func(tr *sdk.Traits) { tr.LockScope = sdk.ScopeNone })},
	{"redlock has no Add", []string{"announce/traits"}, traits(func(tr *sdk.Traits) {
		tr.LockStrategy, tr.Withdrawn = sdk.StrategyRedlock, []sdk.Capability{sdk.CanAdd}
	})},
	{"a release compares with nothing", []string{"announce/traits"}, traits(func(tr *sdk.Traits) { tr.Withdrawn = []sdk.Capability{sdk.CanCompareDelete} })},
	{"keys are longer than hosts send", []string{"announce/traits"}, traits(func(tr *sdk.Traits) { tr.MaxKey = 4096 })},
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
