package database

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
)

const (
	// askAlone is how often a waiter asks for its lock where it can't hear of a
	// release, and askBehind where it can: a notification may be lost.
	askAlone  = 100 * time.Millisecond
	askBehind = 5 * time.Second
	// askLease is for locks of the strategy lease, whose releases nobody
	// announces.
	askLease = 50 * time.Millisecond
)

// Waits are the waiters of a store. All of them share one connection that
// listens for releases; it is there while anybody waits, and a little longer.
type waits struct {
	store   *store
	channel string // of the lock table; set before the gate opens

	mu        sync.Mutex // guards below
	waiters   map[string]map[*waiter]bool
	running   bool          // the listener is
	listening bool          // it has a connection that listens
	changed   chan struct{} // closed when listening changes; nil while nobody looks
}

// A waiter waits for one lock.
type waiter struct{ woken chan struct{} }

// lockOf is how a release is announced: no names travel, and every one fits.
func lockOf(r sdk.LeaseRequest) string {
	sum := sha256.Sum256([]byte(r.Strategy + "\x00" + r.Key))
	return hex.EncodeToString(sum[:16])
}

// channelOf names a lock table's channel, whatever the table was called.
func channelOf(table string) string {
	sum := sha256.Sum256([]byte(table))
	return "cachewright_" + hex.EncodeToString(sum[:16])
}

// WaitLease implements sdk.LeaseWaiter. It returns when the lock is seen to be
// free, when its release is announced, and when its lease ends. Between its
// questions it has no connection.
func (s *store) WaitLease(ctx context.Context, r sdk.LeaseRequest) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	w := s.waits.join(lockOf(r))
	defer s.waits.leave(lockOf(r), w)
	for {
		hears, changed := s.waits.state()
		left, err := s.remaining(ctx, r)
		if left <= 0 || err != nil {
			return err
		}
		timer := time.NewTimer(min(left, interval(r, hears)))
		select {
		case <-w.woken:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-changed: // a release may have been missed
			timer.Stop()
		case <-timer.C:
		}
	}
}

// interval is the time to the next question, not the same for all.
func interval(r sdk.LeaseRequest, hears bool) time.Duration {
	switch {
	case r.Strategy == sdk.StrategyLease:
		return askLease
	case hears:
		return askBehind + rand.N(askBehind/5)
	}
	return askAlone + rand.N(askAlone/5)
}

// join adds a waiter, and sees to it that somebody listens.
func (ws *waits) join(lock string) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.waiters == nil {
		ws.waiters = make(map[string]map[*waiter]bool)
	}
	if ws.waiters[lock] == nil {
		ws.waiters[lock] = make(map[*waiter]bool)
	}
	w := &waiter{make(chan struct{})}
	ws.waiters[lock][w] = true
	if !ws.running && ws.store.listen != nil {
		ws.running = true
		ws.store.work.Go(ws.listen)
	}
	return w
}

func (ws *waits) leave(lock string, w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.waiters[lock], w)
	if len(ws.waiters[lock]) == 0 {
		delete(ws.waiters, lock)
	}
}

// count is how many wait.
func (ws *waits) count() (n int) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, waiters := range ws.waiters {
		n += len(waiters)
	}
	return n
}

// wake ends the waits for a lock.
func (ws *waits) wake(lock string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.waiters[lock] {
		close(w.woken)
		delete(ws.waiters[lock], w)
	}
}

// state tells whether releases are heard, and what ends that answer.
func (ws *waits) state() (hears bool, changed <-chan struct{}) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.changed == nil {
		ws.changed = make(chan struct{})
	}
	return ws.listening, ws.changed
}

func (ws *waits) setListening(listening bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.listening = listening
	if ws.changed != nil {
		close(ws.changed)
		ws.changed = nil
	}
}

// freed announces a release, at once to waiters of this store and soon to
// others. The release itself doesn't wait for that.
func (ws *waits) freed(lock string) {
	ws.wake(lock)
	ws.store.calls.push(&cargo{key: lock})
}

// notifyTogether announces releases to all who listen.
func (s *store) notifyTogether(ctx context.Context, conn *pgx.Conn, cargos []*cargo) error {
	locks := make([]string, len(cargos))
	for i, c := range cargos {
		locks[i] = c.key
	}
	_, err := conn.Exec(ctx, s.sql.notify, s.waits.channel, locks)
	return err
}
