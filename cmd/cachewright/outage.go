package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	cache "github.com/cachewright/cachewright/core"
)

// An outage is a hook that remembers the first read that a store could not
// answer, whatever its on_error makes of that.
type outage struct {
	mu  sync.Mutex // guards below
	err error
}

// Start is cache.Hook's.
func (*outage) Start(ctx context.Context, _ cache.Call) (context.Context, error) { return ctx, nil }

// End is cache.Hook's.
func (o *outage) End(_ context.Context, c cache.Call, out cache.Outcome) error {
	if errors.Is(out.Err, cache.ErrUnavailable) || errors.Is(out.Err, cache.ErrOverloaded) || errors.Is(out.Err, context.DeadlineExceeded) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = &cache.Error{Op: string(c.Op), Store: c.Store, Driver: c.Driver, Key: c.Key, Err: out.Err}
		}
	}
	return out.Err
}

// over is the error of a command: an outage that was taken for misses is one.
func (o *outage) over(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil && (err == nil || errors.Is(err, errNo)) { // else it is said already
		return fmt.Errorf("%w; on_error: miss hides that from applications", o.err)
	}
	return err
}
