//go:build unix

package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
)

// Each process takes its calls along; a call that has met three gives up.
func TestCallsInFlightEndWithTheirThirdProcess(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, spec Spec) {
		d := brisk(newDriver(t, spec))
		d.pace.healthy = 0
		r := openStore(t, d, nil)
		const many = 64
		ended := make(chan error, many)
		var sent sync.WaitGroup
		sent.Add(many)
		for range many {
			go func() {
				sent.Done()
				_, _, err := r.Get(guarded(t), "hang")
				ended <- err
			}()
		}
		sent.Wait()
		last := 0
		eventually(t, "every call has ended", func() bool {
			if s := d.Status(); s.State == StateReady && s.PID != last {
				time.Sleep(20 * time.Millisecond) // the calls find their way into it
				last = s.PID
				signal(t, last, syscall.SIGKILL)
			}
			return len(ended) == many
		})
		for range many {
			if err := <-ended; !errors.Is(err, wire.ErrDriverUnavailable) || errors.Is(err, wire.ErrMaybeApplied) {
				t.Errorf("a call ended with %v", err)
			}
		}
	})
}

func TestACallThatItsContextEndsSaysWhatMayHaveHappened(t *testing.T) {
	onBothPlanes(t, func(t *testing.T, spec Spec) {
		r := openStore(t, newDriver(t, spec), nil)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		for name, test := range map[string]struct {
			call  func(context.Context) error
			maybe bool
		}{
			"a read":  {func(ctx context.Context) error { _, _, err := r.Get(ctx, "hang"); return err }, false},
			"a write": {func(ctx context.Context) error { return r.Set(ctx, "hang", nil, 0) }, true},
		} {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
			defer cancel()
			if err := test.call(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, wire.ErrMaybeApplied) != test.maybe {
				t.Errorf("%s whose deadline is over: %v", name, err)
			}
			ctx, cancel = context.WithCancel(context.Background())
			time.AfterFunc(30*time.Millisecond, cancel)
			if err := test.call(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, wire.ErrMaybeApplied) != test.maybe {
				t.Errorf("%s that is cancelled: %v", name, err)
			}
			if err := test.call(over); !errors.Is(err, context.Canceled) || errors.Is(err, wire.ErrMaybeApplied) {
				t.Errorf("%s under a context that is done: %v", name, err)
			}
		}
	})
}

func TestWhatAFailureOfThePlaneMeans(t *testing.T) {
	t.Parallel()
	gone := &fastplane.LostError{Cause: errors.New("EOF")}
	for _, test := range []struct {
		effect             effect
		sent               bool
		err                error
		maybe, unavailable bool
	}{
		{reads, false, gone, false, true},
		{reads, true, gone, false, true},
		{writes, false, gone, false, true},
		{writes, true, gone, true, false},
		{takes, true, gone, true, false},
		{reads, true, context.Canceled, false, false},
		{writes, true, context.Canceled, true, false},
		{writes, false, context.Canceled, false, false},
		{writes, false, wire.ErrOverloaded, false, false},
	} {
		err := planeError(test.effect, test.sent, test.err)
		if errors.Is(err, wire.ErrMaybeApplied) != test.maybe || errors.Is(err, wire.ErrDriverUnavailable) != test.unavailable {
			t.Errorf("effect %d, sent %v, %v: %v", test.effect, test.sent, test.err, err)
		}
		if isLost := lost(err) != nil; isLost != (test.err == error(gone)) {
			t.Errorf("%v: lost %v", err, isLost)
		}
		if test.err == context.Canceled && !errors.Is(err, context.Canceled) || strings.Contains(fmt.Sprint(err), "rpc error") {
			t.Errorf("%v", err)
		}
	}
}
