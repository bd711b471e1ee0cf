package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// A binding ties a store to the process in which it is open, or was refused.
type binding struct {
	session *session
	store   Store
	err     error     // why it is not open; store is nil
	at      time.Time // of the refusal
}

// bind ties the store to a process, before that is published.
func (r *RemoteStore) bind(b *binding) {
	r.learn(b)
	r.bound.Store(b)
}

func (r *RemoteStore) learn(b *binding) {
	if b.store != nil {
		r.facts.Store(&facts{b.store.Traits(), b.store.Capabilities()})
	}
}

// reopen opens the store in a new process. A refusal is kept for the store's
// callers, and returned.
func (r *RemoteStore) reopen(ctx context.Context, s *session) error {
	b := r.openIn(ctx, s)
	r.bind(b)
	if r.isClosed() { // meanwhile
		_ = r.closeIn(ctx, s) // nobody is left to be told
	}
	return b.err
}

func (r *RemoteStore) openIn(ctx context.Context, s *session) *binding {
	store, err := s.open(ctx, r.name, r.options)
	if err != nil {
		r.driver.log.Warn("store not opened again", "store", r.name, "err", err)
		return &binding{session: s, err: err, at: time.Now()}
	}
	return &binding{session: s, store: store}
}

func (r *RemoteStore) isClosed() bool {
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}

// acquire returns the store in the process that calls go to.
func (r *RemoteStore) acquire(ctx context.Context) (*binding, error) {
	for {
		if r.isClosed() {
			return nil, r.closedError()
		}
		s, err := r.driver.acquire(ctx, r.closed)
		if err != nil {
			return nil, r.acquireError(err)
		}
		b := r.bound.Load()
		if b.session != s { // s has been replaced meanwhile
			continue
		}
		if b.store != nil {
			return b, nil
		}
		if err := r.heal(ctx, b); err != nil {
			return nil, err
		}
	}
}

func (r *RemoteStore) acquireError(err error) error {
	if r.isClosed() && errors.Is(err, wire.ErrClosed) {
		return r.closedError()
	}
	return err
}

func (r *RemoteStore) closedError() error {
	return fmt.Errorf("store %s: %w", r.name, wire.ErrClosed)
}

// heal tries to open a store again that its driver refused after a restart, or
// that its process doesn't know: what was wrong may have been put right.
func (r *RemoteStore) heal(ctx context.Context, b *binding) error {
	if !r.beginHealing(b) {
		return fmt.Errorf("store %s could not be opened again in the driver's new process: %w", r.name, b.err)
	}
	defer r.endHealing()
	healed := r.openIn(ctx, b.session)
	if !r.bound.CompareAndSwap(b, healed) {
		return nil // a restart was faster
	}
	r.learn(healed)
	switch {
	case healed.err == nil:
		return nil
	case lost(healed.err) != nil:
		r.driver.doubt(b.session, healed.err)
		return nil
	}
	return fmt.Errorf("open store %s again: %w", r.name, healed.err)
}

// beginHealing admits one caller, and none soon after a refusal.
func (r *RemoteStore) beginHealing(b *binding) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.healing || time.Since(b.at) < r.driver.pace.heal {
		return false
	}
	r.healing = true
	return true
}

func (r *RemoteStore) endHealing() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.healing = false
}
