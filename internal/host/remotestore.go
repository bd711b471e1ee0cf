package host

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/cachewright/cachewright/sdk"
)

// A RemoteStore is a store in a driver's process. It outlives processes: after
// a restart it is the same store, opened again.
//
// Calls whose driver dies under them follow one rule. Increment, Add, Replace
// and Pull are never sent twice: if the request may have reached the driver
// they fail with wire.ErrMaybeApplied. All others are sent again, at most three
// times in total, so that Set, Delete, Touch and Clear may overwrite a write
// made in between. A call that finds no process waits for it or fails as Driver
// describes; it is not lost. An error may match both wire.ErrMaybeApplied and
// wire.ErrDriverUnavailable, a write that was sent once and could not be sent
// again: then the former counts.
//
// Calls without a deadline get one of 30 seconds, except WaitLease.
type RemoteStore struct {
	driver  *Driver
	name    string
	options map[string]any

	bound   atomic.Pointer[binding]
	facts   atomic.Pointer[facts]
	closing sync.Once
	closed  chan struct{}

	mu         sync.Mutex
	generation uint64
	hooks      map[int]func(generation uint64)
	lastHook   int
	healing    bool
}

// facts are what a store announced when it was last opened.
type facts struct {
	traits       sdk.Traits
	capabilities sdk.Capabilities
}

var _ Store = (*RemoteStore)(nil)

func newRemoteStore(d *Driver, name string, options map[string]any) *RemoteStore {
	r := &RemoteStore{
		driver:     d,
		name:       name,
		options:    maps.Clone(options),
		closed:     make(chan struct{}),
		generation: 1,
		hooks:      map[int]func(uint64){},
	}
	r.facts.Store(&facts{})
	return r
}

// Traits are what the store announced when it was last opened.
func (r *RemoteStore) Traits() sdk.Traits { return r.facts.Load().traits }

// Capabilities are what the store announced when it was last opened.
func (r *RemoteStore) Capabilities() sdk.Capabilities { return r.facts.Load().capabilities }

// Generation counts the lives of a volatile store (sdk.ClassVolatile): 1 at
// first, and one more for every process that took its data with it. It stays 1
// for any other store.
func (r *RemoteStore) Generation() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.generation
}

// OnRestart has f called whenever a volatile store has lost its data and locks,
// with the new generation, before any call meets the new process. f must not
// call the store and should be quick: the driver's other stores wait for it.
// remove ends that; f may be running then.
func (r *RemoteStore) OnRestart(f func(generation uint64)) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastHook++
	id := r.lastHook
	r.hooks[id] = f
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.hooks, id)
	}
}

// announce tells that a new process serves the store.
func (r *RemoteStore) announce() {
	if r.Traits().Class != sdk.ClassVolatile {
		return
	}
	r.mu.Lock()
	r.generation++
	generation := r.generation
	hooks := maps.Clone(r.hooks)
	r.mu.Unlock()
	for _, hook := range hooks {
		hook(generation)
	}
}

// Close closes the store in the driver's process; running calls end first,
// within ctx. Calls that wait for the process, and later ones, fail with
// wire.ErrClosed. The driver stays.
func (r *RemoteStore) Close(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	first := false
	r.closing.Do(func() {
		first = true
		close(r.closed)
		r.driver.forget(r)
	})
	b := r.bound.Load()
	if !first || b == nil {
		return nil
	}
	return r.closeIn(ctx, b.session)
}

func (d *Driver) forget(r *RemoteStore) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.stores, r)
}

// closeIn closes the store if it is open in s and s lives.
func (r *RemoteStore) closeIn(ctx context.Context, s *session) error {
	b := r.bound.Load()
	if b == nil || b.session != s || b.store == nil {
		return nil
	}
	err := b.store.Close(ctx)
	if err == nil || lost(err) != nil { // with its process the store is gone
		return nil
	}
	return fmt.Errorf("close store %s: %w", r.name, err)
}
