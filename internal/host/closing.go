package host

import (
	"context"
	"errors"
	"sync"
)

// stopHeld ends the process that the supervisor left: its stores first, which
// lets running calls end, then the driver itself, then whatever is left.
func (d *Driver) stopHeld(ctx context.Context) error {
	d.mu.Lock()
	s := d.held
	d.held = nil
	d.mu.Unlock()
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.pace.stop)
	defer cancel()
	err := errors.Join(d.closeStores(ctx, s), s.stop(ctx))
	d.log.Info("driver stopped", "pid", s.pid, "status", s.status(), "err", err)
	return err
}

// closeStores closes all stores at the same time, within most of ctx: some of
// it is left for the driver to end.
func (d *Driver) closeStores(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, d.pace.stop/2)
	defer cancel()
	stores := d.openStores()
	errs := make([]error, len(stores))
	var all sync.WaitGroup
	for i, r := range stores {
		all.Go(func() { errs[i] = r.closeIn(ctx, s) })
	}
	all.Wait()
	return errors.Join(errs...)
}
