package core_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/sdk"
)

// with makes a fake whose locks default to a strategy.
func with(strategy string) *fake {
	f := newFake()
	f.traits.LockStrategy = strategy
	f.traits.ReleaseCompares = true
	return f
}

// times counts the calls that start with op.
func times(calls []string, op string) int {
	n := 0
	for _, call := range calls {
		if strings.HasPrefix(call, op+" ") {
			n++
		}
	}
	return n
}

func TestS31WithoutTimeoutALeaseIsTenSecondsAndTheWaitHasNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyLease)
		r := f.repository(t)
		err := r.Lock("k").Do(t.Context(), func(context.Context) error {
			if row, ok := f.row(sdk.StrategyLease, "k"); !ok || time.Until(row.expires) != 10*time.Second {
				t.Errorf("the row lasts %v, %t; want 10s", time.Until(row.expires), ok)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.steal(sdk.StrategyLease, "k", time.Hour)
		start := time.Now()
		if err := r.Lock("k").Do(t.Context(), nothing); err != nil || time.Since(start) < time.Hour {
			t.Errorf("entered after %v, %v; want an hour", time.Since(start), err)
		}
	})
}

func TestS32APositiveTimeoutIsWaitLimitAndLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyLease)
		r := f.repository(t)
		f.steal(sdk.StrategyLease, "k", time.Second)
		err := r.Lock("k", cache.LockTimeout(3*time.Second)).Do(t.Context(), func(context.Context) error {
			if row, _ := f.row(sdk.StrategyLease, "k"); time.Until(row.expires) != 3*time.Second {
				t.Errorf("the row lasts %v, want 3s whatever the wait took", time.Until(row.expires))
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		f.steal(sdk.StrategyLease, "k", time.Hour)
		wantLockTimeout(t, r.Lock("k", cache.LockTimeout(3*time.Second)).Do(t.Context(), mustNotRun(t)))
	})
}

func TestS40TimeoutZeroUnderLeaseIsOneAttemptWithTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyLease)
		r := f.repository(t)
		f.steal(sdk.StrategyLease, "k", time.Hour)
		wantLockTimeout(t, r.Lock("k", cache.LockTimeout(0)).Do(t.Context(), mustNotRun(t)))
		if calls := f.seen(); !slices.Equal(calls, []string{"acquire lease k 10s"}) {
			t.Errorf("calls %v", calls)
		}
	})
}

func TestS51EachDoHasAnOwnerOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyLease)
		l := f.repository(t).Lock("k")
		for range 1000 {
			if err := l.Do(t.Context(), nothing); err != nil {
				t.Fatal(err)
			}
		}
		distinct := map[string]bool{}
		for _, owner := range f.owners {
			distinct[owner] = true
		}
		if len(distinct) != 1000 {
			t.Errorf("%d owners for 1,000 Do", len(distinct))
		}
		f.owners = nil
		f.steal(sdk.StrategyLease, "k", time.Second)
		if err := l.Do(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
		if len(slices.Compact(slices.Clone(f.owners))) != 1 || len(f.owners) != 21 {
			t.Errorf("%d attempts of one Do with owners %v", len(f.owners), slices.Compact(f.owners))
		}
	})
}

func TestS53AttemptsComeEveryFiftyMilliseconds(t *testing.T) {
	for _, c := range []struct {
		free time.Duration // when the lock becomes free
		want []int         // when attempts are made, in ms
		wins bool
	}{
		{time.Hour, []int{0, 50, 100, 150}, false},
		{150 * time.Millisecond, []int{0, 50, 100, 150}, true},
		{60 * time.Millisecond, []int{0, 50, 100}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := with(sdk.StrategyLease)
			r := f.repository(t)
			start, at := time.Now(), []int{}
			f.before = func(op, _ string) {
				if op == "acquire" {
					at = append(at, int(time.Since(start).Milliseconds()))
				}
			}
			f.steal(sdk.StrategyLease, "k", c.free)
			err := r.Lock("k", cache.LockTimeout(120*time.Millisecond)).Do(t.Context(), nothing)
			if (err == nil) != c.wins || !slices.Equal(at, c.want) {
				t.Errorf("free after %v: attempts at %v, %v; want %v", c.free, at, err, c.want)
			}
		})
	}
}

func TestS54LeaseWaitersHaveNoOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := with(sdk.StrategyLease).repository(t)
		leave := hold(t, r.Lock("k"))
		first := make(chan string, 2)
		enter := func(name string) {
			_ = r.Lock("k").Do(context.Background(), func(context.Context) error { first <- name; return nil })
		}
		go enter("older") // polls at 0, 50, 100 …
		time.Sleep(10 * time.Millisecond)
		go enter("younger") // polls at 10, 60, 110 …
		time.Sleep(45 * time.Millisecond)
		_ = leave() // at 55
		if name := <-first; name != "younger" {
			t.Errorf("the %s entered first; the younger polls first", name)
		}
		<-first
	})
}

func TestS55TheLimitIsLookedAtAfterAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyLease)
		r := f.repository(t)
		f.steal(sdk.StrategyLease, "k", time.Hour)
		f.before = func(op, _ string) { time.Sleep(time.Second) }
		start := time.Now()
		wantLockTimeout(t, r.Lock("k", cache.LockTimeout(100*time.Millisecond)).Do(t.Context(), mustNotRun(t)))
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v, want the attempt's second", waited)
		}
	})
}

func TestS59ALeaseIsNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyLease)
		r := f.repository(t)
		err := r.Lock("k", cache.LockTimeout(time.Second)).Do(t.Context(), func(ctx context.Context) error {
			f.seen()
			time.Sleep(3 * time.Second)
			if calls := f.seen(); len(calls) > 0 {
				t.Errorf("during the block the driver saw %v", calls)
			}
			if _, live := f.row(sdk.StrategyLease, "k"); live {
				t.Error("the lease is still there after three of its times")
			}
			return ctx.Err()
		})
		if err != nil {
			t.Errorf("a block that outlived its lease: %v", err)
		}
	})
}

func TestS61ALateLeaverLeavesItsSuccessorAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := with(sdk.StrategyLease)
		r := f.repository(t)
		err := r.Lock("k", cache.LockTimeout(time.Second)).Do(t.Context(), func(context.Context) error {
			time.Sleep(2 * time.Second)
			f.steal(sdk.StrategyLease, "k", time.Hour)
			return nil
		})
		if err != nil {
			t.Errorf("the late leaver: %v", err)
		}
		if row, live := f.row(sdk.StrategyLease, "k"); !live || row.owner != "thief" {
			t.Errorf("the successor's row: %v, %t", row, live)
		}
	})
}

func TestS62NothingShowsTheToken(t *testing.T) {
	f := with(sdk.StrategyLease)
	l := f.repository(t).Lock("k")
	err := l.Do(t.Context(), func(ctx context.Context) error {
		f.failing("release", errors.New("no"))
		row, _ := f.row(sdk.StrategyLease, "k")
		for _, text := range []string{fmt.Sprintf("%v %+v", l, l), fmt.Sprintf("%v", ctx)} {
			if strings.Contains(text, row.owner) {
				t.Errorf("the token shows in %s", text)
			}
		}
		return nil
	})
	if err == nil || strings.Contains(err.Error(), f.owners[0]) {
		t.Errorf("error %v", err)
	}
	f.failing("release", nil)
}

func TestS63AndS64ErrorsOfTheBackendReachTheCaller(t *testing.T) {
	broken := errors.New("permission denied for table cache_locks")
	for _, strategy := range []string{sdk.StrategyLease, sdk.StrategyExclusive} {
		f := with(strategy)
		r := f.repository(t)
		f.failing("acquire", broken)
		if err := r.Lock("k").Do(t.Context(), mustNotRun(t)); !errors.Is(err, broken) {
			t.Errorf("%s, acquire fails: %v", strategy, err)
		}
		if n := times(f.seen(), "release"); n != 0 {
			t.Errorf("%s: an attempt that failed for sure was released %d times", strategy, n)
		}
		f.failing("acquire", nil)
		f.failing("release", broken)
		if err := r.Lock("k").Do(t.Context(), nothing); !errors.Is(err, broken) {
			t.Errorf("%s, release fails: %v", strategy, err)
		}
	}
}

func TestS94AWinThatNobodyWaitsForIsGivenBack(t *testing.T) {
	for strategy, giveBack := range map[string]string{sdk.StrategyLease: "release", sdk.StrategyExclusive: "release", sdk.StrategyRedlock: "compare-delete"} {
		synctest.Test(t, func(t *testing.T) {
			f := with(strategy)
			r := f.repository(t)
			f.before = func(op, _ string) {
				if op == "acquire" || op == "add" {
					time.Sleep(time.Second)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			start := time.Now()
			if err := r.Lock("k").Do(ctx, mustNotRun(t)); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Millisecond {
				t.Errorf("%s: %v after %v", strategy, err, time.Since(start))
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if n := times(f.seen(), giveBack); n != 1 {
				t.Errorf("%s: the late win was given back %d times", strategy, n)
			}
			if err := r.Lock("k", cache.LockTimeout(0)).Do(t.Context(), nothing); err != nil {
				t.Errorf("%s: the next participant: %v", strategy, err)
			}
		})
	}
}

func TestS100AReleaseErrorHidesNothing(t *testing.T) {
	f := with(sdk.StrategyLease)
	r := f.repository(t)
	broken := errors.New("the server went away")
	f.failing("release", broken)
	err := r.Lock("k").Do(t.Context(), func(context.Context) error { return errBlock })
	if !errors.Is(err, errBlock) || !errors.Is(err, broken) {
		t.Errorf("error %v, want both", err)
	}
	f.rows = map[string]row{}
	defer func() {
		if p := recover(); p != errBlock {
			t.Errorf("recovered %v", p)
		}
	}()
	_ = r.Lock("k").Do(t.Context(), func(context.Context) error { panic(errBlock) })
}
