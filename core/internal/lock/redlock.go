package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// redlockSuffix makes the key of a redlock's entry.
const redlockSuffix = "-lock"

// redlock saves duplicate work and excludes nobody for sure. It tries once to
// add an entry; whoever finds it taken waits for an event inside this process
// and then enters without having it.
type redlock struct{ *Backend }

func (redlock) Check(t Timing) error { return t.refuseExclusive(sdk.StrategyRedlock) }

func (s redlock) Enter(ctx context.Context, r Request) (Held, error) {
	key, token, lease := r.Key+redlockSuffix, newOwner(), r.Timing.documentLease()
	ended, stop := limit(&lease)
	defer stop()
	taken, mine, err := s.try(ctx, key, token, lease)
	if err != nil {
		return Held{}, err
	}
	held := Held{Release: func(ctx context.Context) error { return s.leave(ctx, key, token, mine) }}
	if mine != nil || taken == nil { // taken by another process: there is no event to wait for
		return held, nil
	}
	return held, taken.wait(ctx, ended, s.Closing)
}

// try adds the entry. Participants of this process try one after the other, so
// that whoever finds a local holder's entry finds its event too.
func (s redlock) try(ctx context.Context, key, token string, lease time.Duration) (taken, mine *event, err error) {
	if err := s.events.turns.enter(ctx, place{key: key}, nil, s.Closing); err != nil {
		return nil, nil, err
	}
	defer s.events.turns.pass(place{key: key})
	start := time.Now()
	added, err := attempt(ctx, s.Backend,
		func(ctx context.Context) (bool, error) {
			return s.Store.Add(ctx, key, []byte(token), s.rounded(lease))
		},
		func(ctx context.Context, added bool) { s.undo(ctx, key, token, added) })
	switch {
	case errors.Is(err, wire.ErrCorrupt): // an entry of other origin: taken
		return s.events.find(key), nil, nil
	case err != nil:
		return nil, nil, err
	case added:
		return nil, s.events.begin(key, start.Add(lease)), nil
	}
	return s.events.find(key), nil, nil
}

// rounded never makes a lease zero.
func (s redlock) rounded(lease time.Duration) time.Duration {
	step := s.Store.Traits().Granularity
	if short := lease % step; short != 0 {
		lease += step - short
	}
	return lease
}

// undo takes back an entry whose participant gave up. One of unknown fate is
// left to its lease where a release could take another's.
func (s redlock) undo(ctx context.Context, key, token string, added bool) {
	if added || s.Store.Traits().ReleaseCompares {
		_ = s.remove(ctx, key, token)
	}
}

// leave removes the entry as the store does, also for a participant that never
// had it, and lets the waiters in.
func (s redlock) leave(ctx context.Context, key, token string, mine *event) error {
	err := s.remove(ctx, key, token)
	if mine != nil {
		s.events.end(key, mine)
	}
	return err
}

func (s redlock) remove(ctx context.Context, key, token string) error {
	if s.Store.Traits().ReleaseCompares {
		_, err := s.Store.CompareDelete(ctx, key, []byte(token))
		if errors.Is(err, wire.ErrCorrupt) { // what can't be read holds no token of ours
			return nil
		}
		return err
	}
	_, err := s.Store.Delete(ctx, key)
	return err
}

// events are the holders of one store's redlocks that this process knows.
type events struct {
	turns *registry // of those who try

	mu    sync.Mutex
	byKey map[string]*event
}

func newEvents() events {
	return events{turns: newRegistry(), byKey: make(map[string]*event)}
}

// An event is a local holder: over when it leaves, or when its lease ends.
type event struct {
	over chan struct{}
	ends time.Time
}

func (e *events) begin(key string, ends time.Time) *event {
	e.mu.Lock()
	defer e.mu.Unlock()
	begun := &event{make(chan struct{}), ends}
	e.byKey[key] = begun
	return begun
}

// end lets the waiters of one event in; a later holder's event stays.
func (e *events) end(key string, ended *event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(ended.over)
	if e.byKey[key] == ended {
		delete(e.byKey, key)
	}
}

func (e *events) find(key string) *event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.byKey[key]
}

// wait ends without an error when the waiter may enter: the holder left, its
// lease ended, or the waiter's own wait did.
func (e *event) wait(ctx context.Context, ended waitLimit, closing context.Context) error {
	expired := time.NewTimer(time.Until(e.ends))
	defer expired.Stop()
	select {
	case <-e.over:
	case <-expired.C:
	case <-ended:
	case <-ctx.Done():
	case <-closing.Done():
		return gaveUp(ctx, wire.ErrClosed)
	}
	return ctx.Err()
}
