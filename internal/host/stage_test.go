package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
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

// playedStore has what the tests need. A call with the key "die" kills the
// process first. The process's data holds what else goes wrong, once: "cut", the
// connection breaks; "forgotten", the process doesn't know the store.
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
	if _, forgotten := s.p.data.LoadAndDelete("forgotten"); forgotten {
		return fmt.Errorf("store 7: %w", wire.ErrNotOpen)
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
