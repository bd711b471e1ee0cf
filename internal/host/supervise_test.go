package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

func TestStartsArePacedByGrowingPausesAndBeginAnewAfterAHealthyMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		st.mustOpen(t, "s")
		for range 12 {
			synctest.Wait()
			st.last().die()
			time.Sleep(time.Minute - time.Second) // well beyond the longest pause, not yet healthy
		}
		pauses := st.pausesAfterDeaths()
		if pauses[0] != 0 {
			t.Errorf("the first restart came after %v, want at once", pauses[0])
		}
		for i, pause := range pauses[1:] {
			expected := min(100*time.Millisecond<<i, 30*time.Second)
			if pause < expected/2 || pause > expected*3/2 {
				t.Errorf("pause %d is %v, want %v give or take half", i+1, pause, expected)
			}
		}
		time.Sleep(2 * time.Minute)
		before := time.Since(st.began)
		st.last().die()
		synctest.Wait()
		if starts := st.started(); starts[len(starts)-1] != before {
			t.Errorf("after a healthy minute the restart came after %v, want at once", starts[len(starts)-1]-before)
		}
	})
}

func (st *stage) pausesAfterDeaths() []time.Duration {
	var pauses []time.Duration
	for i, at := range st.started()[1:] {
		pauses = append(pauses, at-time.Duration(i)*(time.Minute-time.Second))
	}
	return pauses
}

func TestCallsWaitForTheFirstRestartAndFailAtOnceInBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		r := st.mustOpen(t, "s")
		release := make(chan struct{})
		st.play(func(ctx context.Context, n int) error {
			<-release
			return errors.New("no luck")
		})
		synctest.Wait()
		st.last().die()
		synctest.Wait()
		failed := make(chan error)
		go func() { _, _, err := r.Get(t.Context(), "k"); failed <- err }()
		go func() { _, err := r.Increment(t.Context(), "k", 1, 0); failed <- err }()
		synctest.Wait()
		select {
		case err := <-failed:
			t.Fatal("a call did not wait for the first restart:", err)
		default:
		}
		close(release)
		for range 2 {
			if err := <-failed; !errors.Is(err, wire.ErrDriverUnavailable) || errors.Is(err, wire.ErrMaybeApplied) {
				t.Errorf("got %v, want ErrDriverUnavailable alone", err)
			}
		}
		begin := time.Now()
		_, _, err := r.Get(t.Context(), "k")
		if time.Since(begin) != 0 || !errors.Is(err, wire.ErrDriverUnavailable) {
			t.Errorf("in backoff a call took %v and gave %v", time.Since(begin), err)
		}
		if text := fmt.Sprint(err); !strings.Contains(text, "no luck") || !strings.Contains(text, "next start is due in") {
			t.Errorf("%q lacks the cause or the time of the next start", text)
		}
		if s := st.Status(); s.State != StateBackoff || s.LastErr == nil || s.PID != 0 {
			t.Errorf("status %+v", s)
		}
		st.play(nil)
		time.Sleep(time.Minute)
		if served := st.served(t, r); served == "1" {
			t.Error("the dead process answered")
		}
		if s := st.Status(); s.State != StateReady || s.Restarts != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestACutConnectionToALivingProcessIsNoDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		r := st.mustOpen(t, "s")
		synctest.Wait()
		st.last().data.Store("cut", true)
		if served := st.served(t, r); served != "1" {
			t.Errorf("process %s answered, want the first", served)
		}
		if s := st.Status(); s.Restarts != 0 || s.State != StateReady {
			t.Errorf("status %+v", s)
		}
	})
}

func TestAFrozenDriverIsKilledAndReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		r := st.mustOpen(t, "s")
		synctest.Wait()
		first := st.last()
		first.frozen.Store(true)
		time.Sleep(st.pace.health + time.Duration(st.pace.misses)*2*st.pace.answer)
		if !first.dead() {
			t.Fatal("the frozen process lives")
		}
		if served := st.served(t, r); served != "2" {
			t.Errorf("process %s answered, want the second", served)
		}
		if err := st.Status().LastErr; err == nil || !strings.Contains(err.Error(), "no sign of life") {
			t.Errorf("last error %v", err)
		}
	})
}

func TestOneMissedSignOfLifeIsForgiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		st.mustOpen(t, "s")
		synctest.Wait()
		p := st.last()
		p.frozen.Store(true)
		time.Sleep(st.pace.health + st.pace.answer)
		p.frozen.Store(false)
		time.Sleep(time.Hour)
		if p.dead() {
			t.Error("the process was killed")
		}
	})
}

func TestConcurrentFirstUsersShareOneStartAndWaitUnderTheirOwnContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		st := newStage(t)
		st.play(func(ctx context.Context, n int) error {
			time.Sleep(3 * time.Second)
			if ctx.Err() != nil {
				t.Error("the start was cancelled with its first user")
			}
			if v, _ := ctx.Value(key{}).(string); v != "kept" {
				t.Error("the first user's values are gone")
			}
			return nil
		})
		impatient, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "kept"), time.Second)
		defer cancel()
		go func() {
			begin := time.Now()
			if _, err := st.Describe(impatient); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
				t.Errorf("the impatient one got %v after %v", err, time.Since(begin))
			}
		}()
		synctest.Wait()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if d, err := st.Describe(t.Context()); err != nil || d.Version != "1" {
					t.Errorf("got %v, %v", d, err)
				}
			})
		}
		all.Wait()
		if len(st.started()) != 1 {
			t.Errorf("%d starts, want one", len(st.started()))
		}
	})
}

func TestAFailedFirstStartIsReportedAndTriedAgainOnDemandOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		broken := &StartError{Driver: "played", Err: errors.New("missing")}
		st.play(func(_ context.Context, n int) error {
			if n < 3 {
				return broken
			}
			return nil
		})
		_, err := st.Describe(t.Context())
		var start *StartError
		if !errors.As(err, &start) || start != broken {
			t.Errorf("got %v, want the start's own error", err)
		}
		time.Sleep(time.Hour)
		if len(st.started()) != 1 {
			t.Errorf("%d starts although nobody asked", len(st.started()))
		}
		if _, err := st.Describe(t.Context()); !errors.As(err, &start) {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if _, err := st.Describe(t.Context()); err != nil {
			t.Error(err)
		}
		if len(st.started()) != 3 {
			t.Errorf("%d starts, want 3", len(st.started()))
		}
	})
}

func TestCloseEndsWaitsAndStartsAndIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		st.play(func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		})
		failed := make(chan error, 2)
		go func() { _, err := st.Describe(t.Context()); failed <- err }()
		go func() { _, err := st.Open(t.Context(), "s", nil); failed <- err }()
		synctest.Wait()
		if err := st.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-failed; !errors.Is(err, wire.ErrClosed) {
				t.Errorf("a waiter got %v, want ErrClosed", err)
			}
		}
		if _, err := st.Describe(t.Context()); !errors.Is(err, wire.ErrClosed) {
			t.Error(err)
		}
		if err := st.Close(t.Context()); err != nil {
			t.Error("the second time:", err)
		}
		if s := st.Status(); s.State != StateClosed {
			t.Errorf("status %+v", s)
		}
	})
}

func TestAClosedDriverWasNeverStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		must(t, st.Close(t.Context()))
		if _, err := st.Describe(t.Context()); !errors.Is(err, wire.ErrClosed) || len(st.started()) != 0 {
			t.Errorf("%v, %d starts", err, len(st.started()))
		}
	})
}
