package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// A stage is a driver whose processes are played: their starts, deaths and
// answers are what the test says, in the fake time of a bubble.
type stage struct {
	*Driver
	launches []time.Duration // since the beginning
	began    time.Time

	mu       sync.Mutex
	starting func(ctx context.Context, n int) error // what start n meets; nil: success
	opening  func(store string, n int) error
	class    sdk.Class
	procs    []*played
}

type played struct {
	*session
	n      int
	exited chan struct{}
	once   sync.Once
	frozen atomic.Bool
	stops  int // graceful ones
	data   sync.Map
}

func newStage(t *testing.T) *stage {
	st := &stage{Driver: New(Spec{Name: "played", Logger: slog.New(slog.DiscardHandler)}), began: time.Now()}
	st.Driver.launch = st.launchPlayed
	t.Cleanup(func() { st.Close(context.Background()) })
	return st
}

func (st *stage) launchPlayed(ctx context.Context) (*session, error) {
	st.mu.Lock()
	st.launches = append(st.launches, time.Since(st.began))
	n := len(st.launches)
	starting := st.starting
	st.mu.Unlock()
	if starting != nil {
		if err := starting(ctx, n); err != nil {
			return nil, err
		}
	}
	p := &played{n: n, exited: make(chan struct{})}
	p.session = &session{
		pid:     n,
		desc:    Description{Name: "played", Version: fmt.Sprint(n)},
		exited:  p.exited,
		doubted: make(chan struct{}, 1),
		status:  func() string { return "exit status 9" },
		check:   p.check,
		kill:    func(context.Context) error { p.die(); return nil },
		stop:    func(context.Context) error { p.stops++; p.die(); return nil },
		open: func(_ context.Context, store string, _ map[string]any) (Store, error) {
			if st.opening != nil {
				if err := st.opening(store, n); err != nil {
					return nil, err
				}
			}
			return &playedStore{p: p, class: st.class}, nil
		},
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.procs = append(st.procs, p)
	return p.session, nil
}

// play decides what the next starts meet.
func (st *stage) play(starting func(ctx context.Context, n int) error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.starting = starting
}

// started lists when starts were tried.
func (st *stage) started() []time.Duration {
	st.mu.Lock()
	defer st.mu.Unlock()
	return slices.Clone(st.launches)
}

func (st *stage) last() *played {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.procs[len(st.procs)-1]
}

func (p *played) die() { p.once.Do(func() { close(p.exited) }) }

func (p *played) dead() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func (p *played) check(ctx context.Context) error {
	if p.dead() {
		return gone(reads)
	}
	if p.frozen.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func gone(e effect) error { return &transportError{sent: true, effect: e, err: errors.New("EOF")} }

// playedStore has what the tests need; a call with the key "die" kills the
// process first, one with "cut" loses its connection and nothing else.
type playedStore struct {
	Store
	p     *played
	class sdk.Class
}

func (s *playedStore) Traits() sdk.Traits             { return sdk.Traits{Class: s.class} }
func (s *playedStore) Capabilities() sdk.Capabilities { return nil }
func (s *playedStore) Close(context.Context) error    { return nil }

func (s *playedStore) call(e effect, key string) error {
	if key == "die" {
		s.p.die()
	}
	if _, cut := s.p.data.LoadAndDelete("cut"); cut || s.p.dead() {
		return gone(e)
	}
	return nil
}

func (s *playedStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if err := s.call(reads, key); err != nil {
		return nil, false, err
	}
	return []byte(fmt.Sprint(s.p.n)), true, nil
}

func (s *playedStore) Set(_ context.Context, key string, _ []byte, _ time.Duration) error {
	return s.call(writes, key)
}

func (s *playedStore) Increment(_ context.Context, key string, _ int64, _ time.Duration) (int64, error) {
	return int64(s.p.n), s.call(writes, key)
}

func (s *playedStore) WaitLease(ctx context.Context, _ sdk.LeaseRequest) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.p.exited:
		return gone(reads)
	}
}

func (st *stage) mustOpen(t *testing.T, name string) *RemoteStore {
	t.Helper()
	r, err := st.Open(t.Context(), name, nil)
	must(t, err)
	return r
}

func (st *stage) served(t *testing.T, r *RemoteStore) string {
	t.Helper()
	v, _, err := r.Get(t.Context(), "k")
	must(t, err)
	return string(v)
}

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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
