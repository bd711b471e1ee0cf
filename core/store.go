package core

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/core/internal/lock"
	"github.com/cachewright/cachewright/internal/host"
	"github.com/cachewright/cachewright/internal/lazyctx"
	"github.com/cachewright/cachewright/internal/seal"
	"github.com/cachewright/cachewright/sdk"
)

// openTimeout bounds the start of a driver and the opening of a store, however
// long the callers who wait for it are willing to.
const openTimeout = 30 * time.Second

// A store is what the configuration says of one, and the opened store once
// somebody used it.
type store struct {
	manager *CacheManager
	name    string
	driver  string
	prefix  string // with its colon, or empty
	codec   Codec
	timeout time.Duration
	lock    string // the strategy; "" is the driver's default
	timing  lock.Timing
	open    func(context.Context) (host.Store, error)

	layers      *seal.Sealer  // nil: values are stored as the codec writes them
	defaultTTL  time.Duration // what DefaultTTL stands for; 0: nothing
	ttlJitter   float64       // the most that a TTL is shortened by, as a share of it
	missOnError bool

	opened  atomic.Pointer[openedStore]
	opening flight[*openedStore]
	loads   loads
}

// An openedStore carries what was announced when the store opened.
type openedStore struct {
	host.Store
	granularity time.Duration
	maxKey      int
	locks       *lock.Backend
}

func (s *store) live(ctx context.Context) (*openedStore, error) {
	if o := s.opened.Load(); o != nil {
		return o, nil
	}
	return s.opening.do(ctx, s.openOnce)
}

func (s *store) openOnce(ctx context.Context) (*openedStore, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	opened, err := s.open(ctx)
	if err != nil {
		return nil, s.placed(err)
	}
	traits := opened.Traits()
	o := &openedStore{opened, max(traits.Granularity, 1), traits.MaxKey, s.lockBackend(opened)}
	if !s.manager.adopt(s, o) {
		return nil, errors.Join(ErrClosed, opened.Close(ctx))
	}
	return o, nil
}

// A call is one operation under way: begun by begin, ended by end. It lives on
// the caller's stack.
type call struct {
	Call
	physical string // the key as the driver knows it
	store    *store
	opened   *openedStore
	caller   context.Context // as the operation was given it
	ctx      context.Context
	limit    *lazyctx.Context // the store's timeout; nil where the caller has a deadline
	hooked   int
}

// begin checks the key, unless the operation has none, opens the store if need
// be, sets the deadline and runs the hooks: every operation passes here. The
// caller ends a call for which it got no error.
func (s *store) begin(ctx context.Context, op Op, key string, keys int) (call, error) {
	c := call{Call: Call{Op: op, Store: s.name, Driver: s.driver, Key: key, Keys: keys}, store: s, caller: ctx}
	if err := s.admit(ctx, &c); err != nil {
		return c, c.fail(err)
	}
	return c, nil
}

func (s *store) admit(ctx context.Context, c *call) (err error) {
	if s.manager.closed.Load() {
		return ErrClosed
	}
	if c.Key != "" || needsKey(c.Op) {
		if c.physical, err = physicalKey(s.prefix, c.Key); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.ctx = ctx
	if _, bounded := ctx.Deadline(); !bounded {
		c.limit = lazyctx.WithTimeout(ctx, s.timeout)
		c.ctx = c.limit
	}
	if err := s.start(c); err != nil {
		c.release()
		return err
	}
	return nil
}

func (s *store) start(c *call) (err error) {
	if c.ctx, c.hooked, err = startHooks(c.ctx, s.manager.hooks, c.Call); err != nil {
		return c.hookError(err)
	}
	if c.opened, err = s.live(c.ctx); err != nil {
		return c.hookError(err)
	}
	if len(c.physical) > c.opened.maxKey {
		return c.hookError(fmt.Errorf("%w: it has %d bytes with its prefix, and the store takes %d", ErrInvalidKey, len(c.physical), c.opened.maxKey))
	}
	return nil
}

// hookError ends the started hooks with an error that they can't take away:
// there is nothing to go on with.
func (c *call) hookError(err error) error {
	hooks := c.store.manager.hooks[:c.hooked]
	if changed := endHooks(c.ctx, hooks, c.Call, Outcome{Err: err}); changed != nil {
		return changed
	}
	return err
}

// end runs the hooks and wraps the error.
func (c *call) end(o Outcome) error {
	c.release()
	if c.hooked > 0 {
		o.Err = endHooks(c.ctx, c.store.manager.hooks, c.Call, o)
	}
	if o.Err = c.store.forgive(c.caller, c.Op, o.Err); o.Err == nil {
		return nil
	}
	return c.fail(o.Err)
}

func (c *call) fail(err error) error {
	return &Error{Op: string(c.Op), Store: c.Store, Driver: c.Driver, Key: c.Key, Err: err}
}

func needsKey(op Op) bool {
	switch op {
	case OpGetMany, OpSetMany, OpDeleteMany, OpClear, OpKeys, OpPing, OpStats, OpOpen:
		return false
	}
	return true
}

func (c *call) release() {
	if c.limit != nil {
		c.limit.End()
	}
}

// has reports a capability that the store announced.
func (o *openedStore) has(c sdk.Capability) bool { return o.Capabilities().Has(c) }

// strategy is the configured one, else the one that the driver announced.
func (s *store) strategy(o *openedStore) string {
	if s.lock != "" {
		return s.lock
	}
	return o.Traits().LockStrategy
}

func (s *store) lockBackend(opened host.Store) *lock.Backend {
	var space any = s
	if announced := opened.Traits().Space; announced != "" {
		space = announced
	}
	return lock.NewBackend(lock.Config{
		Store:       opened,
		Space:       space,
		CallTimeout: s.timeout,
		Closing:     s.manager.closing,
		Elapsed:     s.manager.elapsed,
		Go:          s.manager.blocks.spawn,
	})
}
