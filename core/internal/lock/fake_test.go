package lock

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/bootclock"
	"github.com/cachewright/cachewright/internal/host"
	"github.com/cachewright/cachewright/sdk"
)

const testLease = 3 * time.Second

// A fakeStore has one lease, and tells of restarts.
type fakeStore struct {
	host.Store // of which exclusive uses nothing else

	can    sdk.Capabilities
	scope  sdk.Scope
	before func(attempt int) // runs in each AcquireLease, before it decides
	after  func(attempt int) // and after it has decided
	renew  func(ctx context.Context) error

	mu       sync.Mutex // guards below
	owner    string
	until    time.Time
	fence    uint64
	attempts int
	waits    int
	releases int
	woken    chan struct{} // closed, and replaced, with every release
	hooks    map[int]func(uint64)
}

func newFakeStore() *fakeStore {
	return &fakeStore{
		before: func(int) {}, after: func(int) {}, renew: func(context.Context) error { return nil },
		can: sdk.Capabilities{sdk.CanWaitLease}, woken: make(chan struct{}), hooks: make(map[int]func(uint64)),
	}
}

func (f *fakeStore) Traits() sdk.Traits {
	return sdk.Traits{ShortestLease: time.Second, LockScope: f.scope}
}

func (f *fakeStore) Capabilities() sdk.Capabilities { return f.can }

func (f *fakeStore) AcquireLease(_ context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	f.mu.Lock()
	f.attempts++
	attempt := f.attempts
	f.mu.Unlock()
	f.before(attempt)
	defer f.after(attempt)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live() && f.owner != r.Owner {
		return sdk.LeaseGrant{Remaining: time.Until(f.until)}, nil
	}
	f.owner, f.until = r.Owner, time.Now().Add(r.Lease)
	f.fence++
	return sdk.LeaseGrant{OK: true, Fence: f.fence, Remaining: r.Lease}, nil
}

func (f *fakeStore) RenewLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	if err := f.renew(ctx); err != nil {
		return sdk.LeaseGrant{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.live() || f.owner != r.Owner {
		return sdk.LeaseGrant{}, nil
	}
	f.until = time.Now().Add(r.Lease)
	return sdk.LeaseGrant{OK: true, Fence: f.fence}, nil
}

func (f *fakeStore) ReleaseLease(_ context.Context, r sdk.LeaseRequest) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.releases++
	if !f.live() || f.owner != r.Owner {
		return false, nil
	}
	f.owner = ""
	close(f.woken)
	f.woken = make(chan struct{})
	return true, nil
}

func (f *fakeStore) WaitLease(ctx context.Context, _ sdk.LeaseRequest) error {
	f.mu.Lock()
	f.waits++
	woken, live := f.woken, f.live()
	f.mu.Unlock()
	if !live {
		return nil
	}
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fakeStore) OnRestart(hook func(uint64)) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := len(f.hooks)
	for f.hooks[id] != nil {
		id++
	}
	f.hooks[id] = hook
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.hooks, id)
	}
}

// restart loses the lease and tells of it, as a host does.
func (f *fakeStore) restart() {
	f.mu.Lock()
	f.owner = ""
	var told []func(uint64)
	for _, hook := range f.hooks {
		told = append(told, hook)
	}
	f.mu.Unlock()
	for _, hook := range told {
		hook(2)
	}
}

func (f *fakeStore) live() bool { return f.owner != "" && time.Now().Before(f.until) }

// counts returns how many attempts, waits and releases there were.
func (f *fakeStore) counts() (attempts, waits, releases int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.attempts, f.waits, f.releases
}

// held reports whether somebody has the lease.
func (f *fakeStore) held() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live()
}

// listeners counts those who want to hear of restarts.
func (f *fakeStore) listeners() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.hooks)
}

// A house is the surroundings of a strategy: it counts what it started.
type house struct {
	exclusive
	shut context.CancelFunc
	work sync.WaitGroup
}

func newHouse(t *testing.T, f *fakeStore) *house {
	h := &house{}
	closing, shut := context.WithCancel(context.Background())
	h.shut = shut
	h.exclusive = exclusive{NewBackend(Config{
		Store: f, Space: t.Name(), CallTimeout: time.Minute, Closing: closing, Elapsed: bootclock.Wall, Go: h.work.Go,
	})}
	return h
}

// request asks with a lease of testLease and a limit, if it is not negative.
func request(wait time.Duration) Request {
	lease := testLease
	r := Request{Key: "k", Timing: Timing{Lease: &lease}}
	if wait >= 0 {
		r.Timing.Wait = &wait
	}
	return r
}

// enter enters without a limit.
func (h *house) enter(t *testing.T) Held {
	t.Helper()
	held, err := h.Enter(t.Context(), request(-1))
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func (h *house) leave(t *testing.T, held Held) {
	t.Helper()
	if err := held.Release(context.Background()); err != nil {
		t.Error(err)
	}
}

// empty checks that nothing is left behind once all have left.
func (h *house) empty(t *testing.T, f *fakeStore) {
	t.Helper()
	h.work.Wait()
	if n := turns.len(); n != 0 {
		t.Errorf("%d places are still taken", n)
	}
	if n := f.listeners(); n != 0 {
		t.Errorf("%d still listen for restarts", n)
	}
	if f.held() {
		t.Error("the lease is still somebody's")
	}
}
