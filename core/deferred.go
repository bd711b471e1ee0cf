package core

import (
	"context"
	"errors"
)

// A Deferred is a manager that is opened when it is first needed: a package
// variable may hold one without opening anything at start.
//
//	var Cache = core.NewDeferred(func(ctx context.Context) (*core.CacheManager, error) {
//		return core.Open(ctx, "config.yaml")
//	})
//
// Resolve is all it has, so that nothing can be called on it as if it were
// open.
type Deferred struct {
	open   func(context.Context) (*CacheManager, error)
	flight flight[*CacheManager]
}

// NewDeferred makes a Deferred that opens with open.
func NewDeferred(open func(context.Context) (*CacheManager, error)) *Deferred {
	return &Deferred{open: open}
}

// Resolve returns the manager, opening it if nobody has. Callers at the same
// time open it once, on a context that keeps the first one's values and not its
// cancellation; each waits under its own. A success is kept for good, a failure
// is not: the next call tries again.
func (d *Deferred) Resolve(ctx context.Context) (*CacheManager, error) {
	return d.flight.do(ctx, d.openOnce)
}

func (d *Deferred) openOnce(ctx context.Context) (*CacheManager, error) {
	if d.open == nil {
		return nil, errors.New("cache: a Deferred is made by NewDeferred, with a function that opens")
	}
	m, err := d.open(ctx)
	if err == nil && m == nil {
		return nil, errors.New("cache: the function of a Deferred returned neither a manager nor an error")
	}
	return m, err
}
