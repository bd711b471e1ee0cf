package memory

import (
	"context"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

const (
	// fenceLife is how long the last fence of a lock is kept after its last use.
	fenceLife = 24 * time.Hour
	// sweepEvery is how often ended leases and old fences are looked for.
	sweepEvery = time.Minute
)

// Leases live apart from the entries, so that none is evicted.
type leases struct {
	mu    sync.Mutex // guards below
	locks map[lockName]*lock
	swept time.Time
}

type lockName struct{ strategy, key string }

// A lock is what is known of one lock: its lease, and its last fence.
type lock struct {
	owner string // "": nobody's
	until time.Time
	fence uint64
	used  time.Time     // until when the last lease lasted
	freed chan struct{} // closed at a release; nil while nobody waits
}

func (l *lock) live(now time.Time) bool { return l.owner != "" && l.until.After(now) }

// grant gives or prolongs the lease. DriverClock asks for the time of day,
// which setting the machine's clock moves; the other clock runs evenly.
func (l *lock) grant(r sdk.LeaseRequest, now time.Time) sdk.LeaseGrant {
	l.owner, l.until = r.Owner, now.Add(r.Lease)
	if r.Clock == sdk.DriverClock {
		l.until = l.until.Round(0)
	}
	l.used = l.until
	return sdk.LeaseGrant{OK: true, Fence: l.fence, Remaining: r.Lease}
}

func (l *lock) free() {
	l.owner = ""
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
	}
}

// AcquireLease implements sdk.Leaser.
func (s *store) AcquireLease(_ context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	now := time.Now()
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	s.leases.sweep(now)
	l := s.leases.lock(r)
	if l.live(now) && l.owner != r.Owner {
		return sdk.LeaseGrant{Remaining: l.until.Sub(now)}, nil
	}
	if r.Strategy == sdk.StrategyExclusive {
		l.fence = max(l.fence+1, uint64(now.UnixMicro()))
	}
	return l.grant(r, now), nil
}

// RenewLease implements sdk.LeaseRenewer. A renewal keeps the fence.
func (s *store) RenewLease(_ context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	now := time.Now()
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	l, known := s.leases.locks[name(r)]
	switch {
	case !known || !l.live(now):
		return sdk.LeaseGrant{}, nil
	case l.owner != r.Owner:
		return sdk.LeaseGrant{Remaining: l.until.Sub(now)}, nil
	}
	return l.grant(r, now), nil
}

// ReleaseLease implements sdk.Leaser.
func (s *store) ReleaseLease(_ context.Context, r sdk.LeaseRequest) (released bool, err error) {
	now := time.Now()
	s.leases.mu.Lock()
	defer s.leases.mu.Unlock()
	l, known := s.leases.locks[name(r)]
	if !known || !l.live(now) || l.owner != r.Owner {
		return false, nil
	}
	l.used = now
	l.free()
	if l.fence == 0 {
		delete(s.leases.locks, name(r))
	}
	return true, nil
}

// WaitLease implements sdk.LeaseWaiter. It returns at a release, at the end of
// the lease, and at once if there is nothing to wait for.
func (s *store) WaitLease(ctx context.Context, r sdk.LeaseRequest) error {
	for {
		left, freed := s.leases.watch(r)
		if left <= 0 {
			return nil
		}
		timer := time.NewTimer(left)
		select {
		case <-freed:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C: // it may have been renewed
		}
	}
}

// watch returns how long r's owner has to wait at most, and what ends it
// before.
func (ls *leases) watch(r sdk.LeaseRequest) (left time.Duration, freed <-chan struct{}) {
	now := time.Now()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l, known := ls.locks[name(r)]
	if !known || !l.live(now) || l.owner == r.Owner {
		return 0, nil
	}
	if l.freed == nil {
		l.freed = make(chan struct{})
	}
	return l.until.Sub(now), l.freed
}

// held counts the leases that have not ended.
func (ls *leases) held() (n int) {
	now := time.Now()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.locks {
		if l.live(now) {
			n++
		}
	}
	return n
}

// lock returns the lock that r names, under ls.mu.
func (ls *leases) lock(r sdk.LeaseRequest) *lock {
	if ls.locks == nil {
		ls.locks = make(map[lockName]*lock)
	}
	l, known := ls.locks[name(r)]
	if !known {
		l = &lock{}
		ls.locks[name(r)] = l
	}
	return l
}

// sweep forgets, once a while, locks without a lease and without a fence that
// is worth keeping. Their waiters have timers of their own.
func (ls *leases) sweep(now time.Time) {
	if now.Sub(ls.swept) < sweepEvery {
		return
	}
	ls.swept = now
	for name, l := range ls.locks {
		if !l.live(now) && (l.fence == 0 || now.Sub(l.used) > fenceLife) {
			delete(ls.locks, name)
		}
	}
}

func name(r sdk.LeaseRequest) lockName { return lockName{r.Strategy, r.Key} }
