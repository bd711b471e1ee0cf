package host

import (
	"context"
	"fmt"
	"time"
)

// watch returns when the process behind s has to go, and why: it has ended, or
// it gives no sign of life. It also returns, with nil, when ctx ends.
func (d *Driver) watch(ctx context.Context, s *session) error {
	next := time.NewTicker(d.pace.health)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.exited:
			return s.death()
		case <-s.doubted:
		case <-next.C:
		}
		if err := d.probe(ctx, s); err != nil {
			return err
		}
		d.clearDoubt(s)
	}
}

// probe asks for signs of life until there is one, or too many are missing. One
// miss means nothing: the host itself may have been frozen.
func (d *Driver) probe(ctx context.Context, s *session) error {
	var err error
	for range d.pace.misses {
		if err = d.ask(ctx, s); err == nil || ctx.Err() != nil {
			return nil
		}
		d.log.Debug("driver gives no sign of life", "pid", s.pid, "err", err)
		select {
		case <-s.exited:
			return s.death()
		case <-ctx.Done():
			return nil
		case <-time.After(d.pace.answer / 20): // a lost connection is made again meanwhile
		}
	}
	return fmt.Errorf("its process %d gives no sign of life: %w", s.pid, err)
}

func (d *Driver) ask(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.pace.answer,
		fmt.Errorf("no answer within %v: %w", d.pace.answer, context.DeadlineExceeded))
	defer cancel()
	if err := s.check(ctx); err != nil {
		return endOf(ctx, err)
	}
	return nil
}

// clearDoubt puts a session back to use whose process has given a sign of life.
func (d *Driver) clearDoubt(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current.Load() != s {
		d.show(s)
	}
}
