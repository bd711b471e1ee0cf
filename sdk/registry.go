package sdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cachewright/cachewright/internal/wire"
)

// A registry holds the stores that a process has open, by number.
type registry struct {
	open atomic.Pointer[map[uint64]*Instance] // never changed, but replaced

	mu     sync.Mutex // replaces open
	last   uint64
	closed bool // no store is added any more
}

// newRegistry starts counting at a random number, so that a number of another
// process is unknown here instead of another store.
func newRegistry() *registry {
	r := &registry{last: uint64(rand.Uint32())}
	r.open.Store(&map[uint64]*Instance{})
	return r
}

func (r *registry) add(in *Instance) (number uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0, fmt.Errorf("%w: the driver is stopping", ErrClosed)
	}
	r.last++
	open := maps.Clone(*r.open.Load())
	open[r.last] = in
	r.open.Store(&open)
	return r.last, nil
}

func (r *registry) find(number uint64) (*Instance, error) {
	in, ok := (*r.open.Load())[number]
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
		r.remove(number)
	}
	return err
}

func (r *registry) remove(number uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := maps.Clone(*r.open.Load())
	delete(open, number)
	r.open.Store(&open)
}

// busy reports whether any store has a call running.
func (r *registry) busy() bool {
	for _, in := range *r.open.Load() {
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
	instances := slices.Collect(maps.Values(*r.open.Load()))
	r.mu.Unlock()

	errs := make([]error, len(instances))
	var wg sync.WaitGroup
	for i, in := range instances {
		wg.Go(func() { errs[i] = in.Close(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
