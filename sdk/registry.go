package sdk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/cachewright/cachewright/internal/wire"
)

// A registry holds the stores that a process has open, by number.
type registry struct {
	mu     sync.RWMutex
	open   map[uint64]*Instance
	last   uint64
	closed bool // no store is added any more
}

// newRegistry starts counting at a random number, so that a number of another
// process is unknown here instead of another store.
func newRegistry() *registry {
	return &registry{open: make(map[uint64]*Instance), last: uint64(rand.Uint32())}
}

func (r *registry) add(in *Instance) (number uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, fmt.Errorf("%w: the driver is stopping", ErrClosed)
	}
	r.last++
	r.open[r.last] = in
	return r.last, nil
}

func (r *registry) find(number uint64) (*Instance, error) {
	r.mu.RLock()
	in, ok := r.open[number]
	r.mu.RUnlock()
	if !ok {
		return nil, fmt.Errorf("%w: there is no number %d", wire.ErrNotOpen, number)
	}
	return in, nil
}

// close closes one store. While ctx ends before the store's last call, the
// number stays, so that closing can be asked for again.
func (r *registry) close(ctx context.Context, number uint64) error {
	in, err := r.find(number)
	if err != nil {
		return err
	}
	err = in.Close(ctx)
	if ctx.Err() == nil {
		r.mu.Lock()
		delete(r.open, number)
		r.mu.Unlock()
	}
	return err
}

// busy reports whether any store has a call running.
func (r *registry) busy() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, in := range r.open {
		if n := in.calls.Load(); n != 0 && n != admitsNone {
			return true
		}
	}
	return false
}

// closeAll closes every store at once and admits no other.
func (r *registry) closeAll(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	instances := make([]*Instance, 0, len(r.open))
	for _, in := range r.open {
		instances = append(instances, in)
	}
	r.mu.Unlock()

	errs := make([]error, len(instances))
	var wg sync.WaitGroup
	for i, in := range instances {
		wg.Go(func() { errs[i] = in.Close(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
