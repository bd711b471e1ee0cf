package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

func TestAPoisonedCallIsSentThreeTimesAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		st.pace.healthy = 0 // every crash is answered by a restart at once
		r := st.mustOpen(t, "s")
		_, _, err := r.Get(t.Context(), "die")
		if !errors.Is(err, wire.ErrDriverUnavailable) {
			t.Error(err)
		}
		if n := st.lastDead(); n != maxSends {
			t.Errorf("%d processes died of it, want %d", n, maxSends)
		}
		err = r.Set(t.Context(), "die", nil, 0)
		if !errors.Is(err, wire.ErrMaybeApplied) || !errors.Is(err, wire.ErrDriverUnavailable) {
			t.Errorf("got %v, want ErrMaybeApplied and ErrDriverUnavailable", err)
		}
	})
}

func (st *stage) lastDead() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	n := 0
	for _, p := range st.procs {
		if p.dead() {
			n++
		}
	}
	return n
}

func TestIncrementIsSentOnceUnlessItSurelyWasNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		r := st.mustOpen(t, "s")
		_, err := r.Increment(t.Context(), "die", 1, 0)
		if !errors.Is(err, wire.ErrMaybeApplied) || errors.Is(err, wire.ErrUnavailable) {
			t.Errorf("got %v, want ErrMaybeApplied alone", err)
		}
		synctest.Wait()
		if n := len(st.started()); n != 2 {
			t.Errorf("%d processes, want the dead one and its successor", n)
		}
		// No process at all: the call waits and is sent.
		time.Sleep(2 * time.Minute)
		hold := make(chan struct{})
		st.play(func(context.Context, int) error { <-hold; return nil })
		time.Sleep(time.Second)
		st.last().die()
		synctest.Wait()
		sum := make(chan int64)
		go func() {
			n, err := r.Increment(t.Context(), "k", 1, 0)
			if err != nil {
				t.Error(err)
			}
			sum <- n
		}()
		synctest.Wait()
		close(hold)
		if n := <-sum; n != 3 {
			t.Errorf("process %d counted, want the third", n)
		}
	})
}

func TestStoresAreOpenedAgainBeforeAnyCallAndOneThatIsRefusedFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		refuse := true
		st.opening = func(store string, n int) error {
			time.Sleep(time.Second) // in parallel, hence one second in all
			if store == "bad" && n > 1 && refuse {
				return fmt.Errorf("%w: gone", wire.ErrInvalidOptions)
			}
			return nil
		}
		good, bad := st.mustOpen(t, "good"), st.mustOpen(t, "bad")
		st.last().die()
		begin := time.Now()
		if served := st.served(t, good); served != "2" || time.Since(begin) != time.Second {
			t.Errorf("process %s after %v", served, time.Since(begin))
		}
		_, _, err := bad.Get(t.Context(), "k")
		if !errors.Is(err, wire.ErrInvalidOptions) || !strings.Contains(err.Error(), "store bad") {
			t.Errorf("got %v", err)
		}
		refuse = false
		time.Sleep(2 * time.Second)
		if served := st.served(t, bad); served != "2" {
			t.Errorf("process %s, want the second: the store heals without a restart", served)
		}
	})
}

func TestAVolatileStoreGetsANewGenerationBeforeTheNewProcessIsMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		st.class = sdk.ClassVolatile
		r := st.mustOpen(t, "s")
		var told []uint64
		r.OnRestart(func(generation uint64) {
			if st.current.Load() != nil {
				t.Error("the process was published first")
			}
			told = append(told, generation)
		})
		remove := r.OnRestart(func(uint64) { t.Error("a removed hook was called") })
		remove()
		st.last().die()
		st.served(t, r)
		synctest.Wait()
		st.last().data.Store("cut", true) // no new process, no new generation
		st.served(t, r)
		if !slices.Equal(told, []uint64{2}) || r.Generation() != 2 {
			t.Errorf("told %v, generation %d", told, r.Generation())
		}
	})
}

func TestADurableStoreKeepsItsGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		st.class = sdk.ClassOverlap
		r := st.mustOpen(t, "s")
		r.OnRestart(func(uint64) { t.Error("it was told of a loss") })
		st.last().die()
		st.served(t, r)
		if r.Generation() != 1 {
			t.Errorf("generation %d", r.Generation())
		}
	})
}

func TestCallsWithoutADeadlineGetOneExceptAWaitForALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		r := st.mustOpen(t, "s")
		st.play(func(ctx context.Context, _ int) error {
			time.Sleep(time.Hour)
			return nil
		})
		woken := make(chan error, 1)
		go func() { woken <- r.WaitLease(context.Background(), sdk.LeaseRequest{}) }()
		synctest.Wait()
		st.last().die()
		synctest.Wait()
		begin := time.Now()
		_, _, err := r.Get(context.Background(), "k")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 30*time.Second {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
		time.Sleep(2 * time.Hour)
		if err := <-woken; err != nil {
			t.Errorf("the wait for the lease ended with %v, want a wake-up by the next process", err)
		}
	})
}

func TestAClosedStoreEndsItsOwnCallsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		a, b := st.mustOpen(t, "a"), st.mustOpen(t, "b")
		st.play(func(context.Context, int) error { time.Sleep(time.Second); return nil })
		st.last().die()
		synctest.Wait()
		failed := make(chan error, 1)
		go func() { _, _, err := a.Get(t.Context(), "k"); failed <- err }()
		synctest.Wait()
		must(t, a.Close(t.Context()))
		if err := <-failed; !errors.Is(err, wire.ErrClosed) || !strings.Contains(err.Error(), "store a") {
			t.Errorf("got %v", err)
		}
		if served := st.served(t, b); served != "2" {
			t.Error(served)
		}
		if _, _, err := a.Get(t.Context(), "k"); !errors.Is(err, wire.ErrClosed) {
			t.Error(err)
		}
		if s := st.Status(); s.Stores != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestAStoreThatItsProcessDoesNotKnowIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t)
		r := st.mustOpen(t, "s")
		synctest.Wait()
		st.last().data.Store("forgotten", true)
		if n, err := r.Increment(t.Context(), "k", 1, 0); n != 1 || err != nil {
			t.Errorf("got %d, %v: what was refused was not applied, and is sent again", n, err)
		}
		if s := st.Status(); s.State != StateReady || s.Restarts != 0 {
			t.Errorf("status %+v", s)
		}
	})
}
