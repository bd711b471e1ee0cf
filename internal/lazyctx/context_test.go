package lazyctx_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/internal/lazyctx"
)

func TestTheDeadlineEndsItWhetherOrNotSomebodyWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		idle := lazyctx.WithTimeout(t.Context(), time.Second)
		watched := lazyctx.WithTimeout(t.Context(), time.Second)
		defer idle.End()
		defer watched.End()
		done := watched.Done()
		if idle.Err() != nil || watched.Err() != nil {
			t.Error("over before the deadline")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("Done is open after the deadline")
		}
		select {
		case <-idle.Done():
		default:
			t.Error("a channel first asked for after the deadline is open")
		}
		for _, ctx := range []*lazyctx.Context{idle, watched} {
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("Err = %v", ctx.Err())
			}
		}
	})
}

func TestItEndsWithItsParentAndByItself(t *testing.T) {
	t.Parallel()
	for _, watch := range []bool{false, true} {
		parent, cancel := context.WithCancel(t.Context())
		ctx, own := lazyctx.WithTimeout(parent, time.Hour), lazyctx.WithTimeout(parent, time.Hour)
		child, stop := context.WithCancel(ctx)
		defer stop()
		if watch {
			ctx.Done()
			own.Done()
		}
		own.End()
		if !errors.Is(own.Err(), context.Canceled) || ctx.Err() != nil {
			t.Errorf("watched %v: after End: %v, and the other %v", watch, own.Err(), ctx.Err())
		}
		<-own.Done()
		cancel()
		<-ctx.Done()
		<-child.Done()
		if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(child.Err(), context.Canceled) {
			t.Errorf("watched %v: after the parent's end: %v, %v", watch, ctx.Err(), child.Err())
		}
	}
}

func TestItCarriesWhatItsParentDoes(t *testing.T) {
	t.Parallel()
	type key struct{}
	why := errors.New("why")
	parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	ctx := lazyctx.WithTimeout(parent, time.Hour)
	defer ctx.End()
	if ctx.Value(key{}) != "value" || ctx.Parent() != parent || ctx.Timeout() != time.Hour {
		t.Errorf("the context is %v", ctx)
	}
	cancel(why)
	<-ctx.Done()
	if ctx.Value(key{}) != "value" || context.Cause(ctx) != why {
		t.Errorf("watched: %v, cause %v", ctx.Value(key{}), context.Cause(ctx))
	}
}

func TestUnwatchedItIsOneAllocation(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		ctx := lazyctx.WithTimeout(context.Background(), time.Hour)
		if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
			t.Error("no live deadline")
		}
		ctx.End()
	}); n > 1 {
		t.Errorf("%v allocations", n)
	}
}
