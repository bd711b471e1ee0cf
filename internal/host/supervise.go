package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// supervise keeps the driver running until ctx ends. It leaves a process that
// runs then to Close.
func (d *Driver) supervise(ctx context.Context) {
	defer close(d.ended)
	pauses := &backoff.ExponentialBackOff{
		InitialInterval:     d.pace.firstPause,
		RandomizationFactor: 0.5,
		Multiplier:          2,
		MaxInterval:         d.pace.longestPause,
	}
	pauses.Reset()
	fresh := true // the next death is answered by a start at once
	for ctx.Err() == nil {
		s, err := d.bringUp(ctx)
		if err == nil {
			up := time.Now()
			d.publish(s)
			err = d.watch(ctx, s)
			if ctx.Err() != nil {
				return
			}
			d.retire(ctx, s, err)
			if time.Since(up) >= d.pace.healthy {
				pauses.Reset()
				fresh = true
			}
			if fresh {
				fresh = false
				continue
			}
		}
		if ctx.Err() != nil {
			return
		}
		fresh = false
		d.rest(ctx, err, pauses.NextBackOff())
	}
}

// bringUp starts a process and opens the stores in it.
func (d *Driver) bringUp(ctx context.Context) (*session, error) {
	started := time.Now()
	s, err := d.startOne(ctx)
	if err != nil {
		return nil, err
	}
	d.hold(s)
	if err := d.reopen(ctx, s); err != nil {
		d.retire(ctx, s, err)
		return nil, err
	}
	d.log.Info("driver started", "pid", s.pid, "version", s.desc.Version, "took", time.Since(started).Round(time.Microsecond))
	return s, nil
}

func (d *Driver) startOne(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.pace.start,
		fmt.Errorf("the start timeout of %v is over: %w", d.pace.start, context.DeadlineExceeded))
	defer cancel()
	return d.launch(ctx)
}

func (d *Driver) hold(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = s
}

// reopen opens the driver's stores in a new process, all at the same time. A
// store that the driver refuses fails alone; only the loss of the process is an
// error.
func (d *Driver) reopen(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, d.pace.reopen)
	defer cancel()
	var all sync.WaitGroup
	gone := make(chan error, 1)
	for _, r := range d.openStores() {
		all.Go(func() {
			if err := r.reopen(ctx, s); lost(err) != nil {
				select {
				case gone <- err:
				default:
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-gone:
		return fmt.Errorf("open the stores again: %w", err)
	default:
		return ctxCause(ctx)
	}
}

// ctxCause is the supervisor's own end, and nothing for a deadline of ours: a
// store that took too long fails alone too.
func ctxCause(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return nil
}

func (d *Driver) openStores() []*RemoteStore {
	d.mu.Lock()
	defer d.mu.Unlock()
	stores := make([]*RemoteStore, 0, len(d.stores))
	for r := range d.stores {
		stores = append(stores, r)
	}
	return stores
}

// publish lets calls go to s. Whoever holds locks in a store that lost its data
// hears of it before.
func (d *Driver) publish(s *session) {
	for _, r := range d.openStores() {
		r.announce()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.starts++
	d.show(s)
}

// show is called with mu held.
func (d *Driver) show(s *session) {
	if d.state == StateClosed {
		return
	}
	d.current.Store(s)
	d.patient = false
	d.enter(StateReady)
}

// retire takes s out of use and ends its process. If calls went there, they
// wait for what comes next.
func (d *Driver) retire(ctx context.Context, s *session, cause error) {
	d.mu.Lock()
	d.lastErr = cause
	if d.state == StateReady {
		d.current.Store(nil)
		d.patient = true
		d.enter(StateStarting)
	}
	d.mu.Unlock()
	d.log.Warn("driver lost", "pid", s.pid, "err", cause)
	if err := s.kill(ctx); err != nil {
		d.log.Warn("driver not cleaned up", "pid", s.pid, "err", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = nil
}

// rest waits until the next start: for a while if there are stores to serve,
// else until somebody asks.
func (d *Driver) rest(ctx context.Context, cause error, pause time.Duration) {
	if !d.enterBackoff(cause, pause) {
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return
	}
	if len(d.openStores()) > 0 {
		return
	}
	select {
	case <-d.demand:
	case <-ctx.Done():
	}
}

func (d *Driver) enterBackoff(cause error, pause time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == StateClosed {
		return false
	}
	d.log.Warn("driver failed", "err", cause, "next_start", pause)
	d.lastErr = cause
	d.failures++
	d.patient = false
	select {
	case <-d.demand: // met by the start that has just failed
	default:
	}
	d.due = time.Now().Add(pause)
	d.enter(StateBackoff)
	return true
}
