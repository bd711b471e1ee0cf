package host

import (
	"context"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// acquire returns the session that calls go to. Where there is none it starts
// the driver, waits, or says why there is nothing to wait for. It also ends,
// with wire.ErrClosed, when quit is closed.
func (d *Driver) acquire(ctx context.Context, quit <-chan struct{}) (*session, error) {
	if s := d.current.Load(); s != nil {
		return s, nil
	}
	failures := d.failuresSoFar()
	for {
		s, changed, err := d.admit(ctx, failures)
		if s != nil || err != nil {
			return s, err
		}
		select {
		case <-changed:
		case <-quit:
			return nil, wire.ErrClosed
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for driver %s%s: %w", d.spec.Name, d.reason(), ctx.Err())
		}
	}
}

// reason says why there is no session, as a clause.
func (d *Driver) reason() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.state != StateStarting:
		return ", which is " + string(d.state)
	case d.held != nil:
		return fmt.Sprintf(", whose process %d has not shown that it works", d.held.pid)
	}
	if silence := d.silence.Load(); silence != nil {
		return ", which is starting: so far, " + (*silence)()
	}
	return ", which is starting"
}

func (d *Driver) failuresSoFar() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failures
}

// admit decides what a call does that came when failures starts had failed: it
// has a session, it fails, or it waits for a change.
func (d *Driver) admit(ctx context.Context, failures int) (*session, <-chan struct{}, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.state == StateClosed:
		return nil, nil, d.closedError()
	case d.current.Load() != nil:
		return d.current.Load(), nil, nil
	case d.patient:
	case d.failures > failures, d.state == StateBackoff && d.resting():
		return nil, nil, d.unavailableLocked(d.lastErr)
	default:
		d.wake(ctx)
	}
	return nil, d.changed, nil
}

// resting reports whether a driver in backoff starts at a time of its own: it
// does for the sake of its stores, and without any it doesn't start more often.
func (d *Driver) resting() bool { return len(d.stores) > 0 || time.Now().Before(d.due) }

// wake asks for a start. The first one brings the supervisor to life; what it
// does goes on when the caller has given up, and keeps the caller's values.
func (d *Driver) wake(ctx context.Context) {
	d.patient = true
	d.enter(StateStarting)
	if d.end != nil {
		select {
		case d.demand <- struct{}{}:
		default: // it has been asked for already
		}
		return
	}
	ctx, d.end = context.WithCancel(context.WithoutCancel(ctx))
	go d.supervise(ctx)
}

// doubt takes a session out of use after a call lost its connection; whether
// its process lives is the supervisor's to find out.
func (d *Driver) doubt(s *session, cause error) {
	d.mu.Lock()
	if d.current.Load() == s {
		d.current.Store(nil)
		d.patient = true
		d.lastErr = cause
		d.enter(StateStarting)
	}
	d.mu.Unlock()
	s.doubt()
}

// enter changes the state and tells those who wait. It is called with mu held.
func (d *Driver) enter(state State) {
	d.state = state
	d.since = time.Now()
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *Driver) unavailable(cause error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unavailableLocked(cause)
}

func (d *Driver) unavailableLocked(cause error) error {
	e := &UnavailableError{Driver: d.spec.Name, Err: cause}
	if d.state == StateBackoff {
		e.NextStart = d.due
	}
	return e
}
