package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/core/internal/lock"
	"github.com/cachewright/cachewright/internal/lazyctx"
)

// releaseTimeout bounds a release, which runs on a context of its own.
const releaseTimeout = 10 * time.Second

// A LockOption changes one lock.
type LockOption func(*lockOptions)

type lockOptions struct {
	timing   lock.Timing
	strategy string // "": the store's
}

// LockTimeout is the single control of the strategies local, lease and
// redlock: what it limits depends on the strategy, see docs/locks.md. Under
// exclusive it is LockWait. 0 is one attempt where the strategy has such a
// thing; negative is ErrInvalidLockOption.
func LockTimeout(d time.Duration) LockOption {
	return func(o *lockOptions) { o.timing.Timeout = &d }
}

// LockWait limits the wait under exclusive. Other strategies refuse it with
// ErrInvalidLockOption.
func LockWait(d time.Duration) LockOption {
	return func(o *lockOptions) { o.timing.Wait = &d }
}

// LockLease is how long a holder under exclusive stays one without renewal.
// Other strategies refuse it with ErrInvalidLockOption.
func LockLease(d time.Duration) LockOption {
	return func(o *lockOptions) { o.timing.Lease = &d }
}

// LockStrategy takes the lock under another strategy than the store's: local,
// redlock, lease or exclusive. A key locked under two strategies is two locks,
// so all who share a lock have to agree. The timing of the store's lock block
// does not apply.
func LockStrategy(name string) LockOption {
	return func(o *lockOptions) { o.strategy = name }
}

// A LockBackend is what locks of one store are made from. It has nothing to
// call; NewCacheLock takes it.
type LockBackend struct {
	store *store
}

// A CacheLock guards a piece of work. It may be shared: each Do is a
// participant of its own. Locks are advisory, and none makes a block atomic:
// what it has written stays written.
type CacheLock struct {
	backend *LockBackend
	key     string // as it is named in errors
	prefix  string // the store's, or "" where the caller brought the physical key
	options lockOptions
}

// NewCacheLock builds a lock on the physical key itself: it adds no prefix.
// Applications use Lock of a repository or manager instead.
func NewCacheLock(backend *LockBackend, key string, opts ...LockOption) *CacheLock {
	l := &CacheLock{backend: backend, key: key}
	for _, opt := range opts {
		opt(&l.options)
	}
	return l
}

// Lock builds a lock on the store's key and acquires nothing.
func (r *CacheRepository) Lock(key string, opts ...LockOption) *CacheLock {
	l := NewCacheLock(r.LockBackend(), key, opts...)
	l.prefix = r.store.prefix
	return l
}

// LockBackend is for NewCacheLock.
func (r *CacheRepository) LockBackend() *LockBackend { return &LockBackend{r.store} }

// Do enters the lock, runs fn, and leaves it: also when fn fails, panics or
// ends its goroutine, and not before, whatever becomes of ctx. If entry fails,
// fn does not run. Do returns what fn returned, joined with the error of a
// release that failed.
//
// fn's context is ctx with a mark: a Do on the same lock under it fails with
// ErrLockReentrant at once. A wait that runs out is ErrLockTimeout; a ctx that
// is done before or during entry is ctx's error. A store whose driver can't
// lock fails with an error that matches errors.ErrUnsupported.
func (l *CacheLock) Do(ctx context.Context, fn func(ctx context.Context) error) (err error) {
	if l == nil || l.backend == nil || l.backend.store == nil {
		return &Error{Op: string(OpLock), Err: errors.New("this lock was not made by Lock or NewCacheLock")}
	}
	if fn == nil {
		return l.fail(errors.New("there is no function to run under the lock"))
	}
	s := l.backend.store
	c := Call{Op: OpLock, Store: s.name, Driver: s.driver, Key: l.key, Keys: 1}
	hooked, started, err := startHooks(ctx, s.manager.hooks, c)
	outcome := errNoReturn
	defer func() {
		changed := endHooks(hooked, s.manager.hooks[:started], c, Outcome{Err: outcome})
		if changed != nil && outcome != errNoReturn { // an error stays one: fn may not have run
			err = changed
		}
	}()
	if err == nil {
		err = l.do(hooked, fn)
	} else {
		err = l.fail(err)
	}
	outcome = err
	return err
}

// errNoReturn is what hooks see of a block that panicked or ended its goroutine.
var errNoReturn = errors.New("the block did not return")

func (l *CacheLock) do(ctx context.Context, fn func(context.Context) error) (err error) {
	physical, err := physicalKey(l.prefix, l.key)
	if err != nil {
		return l.fail(err)
	}
	held, err := l.hookedEnter(ctx, physical)
	if err != nil {
		return l.fail(err)
	}
	block, ended := held.block(ctx)
	returned := false
	defer func() {
		lost := ended()
		failed := l.leave(ctx, held)
		if lost && !errors.Is(failed, ErrLockLost) {
			failed = errors.Join(l.fail(ErrLockLost), failed)
		}
		if failed != nil && !returned {
			l.backend.store.manager.logger.Error("lock not released", "store", l.backend.store.name, "key", l.key, "error", failed)
		}
		if failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	err = fn(block)
	returned = true
	return err
}

// hookedEnter is enter as hooks see it. Once the lock is entered, it is: an error
// of theirs counts only where there was one.
func (l *CacheLock) hookedEnter(ctx context.Context, physical string) (held *heldLock, err error) {
	s := l.backend.store
	c := Call{Op: OpLockWait, Store: s.name, Driver: s.driver, Key: l.key, Keys: 1}
	hooked, started, err := startHooks(ctx, s.manager.hooks, c)
	if err == nil {
		held, err = l.enter(hooked, physical)
	}
	changed := endHooks(hooked, s.manager.hooks[:started], c, Outcome{Err: err})
	if err != nil && changed != nil {
		err = changed
	}
	return held, err
}

// enter checks everything that can be checked, then lets the strategy in.
func (l *CacheLock) enter(ctx context.Context, physical string) (*heldLock, error) {
	s := l.backend.store
	timing := l.timing()
	if err := errors.Join(timing.Refuse(), ctx.Err()); err != nil {
		return nil, err
	}
	opened, err := s.live(ctx)
	if err != nil {
		return nil, err
	}
	name := l.strategy(opened)
	strategy, err := lock.Of(name, opened.locks)
	if err != nil {
		return nil, err
	}
	if err := strategy.Check(timing); err != nil {
		return nil, err
	}
	id := lockID{name, opened.locks.Space, physical}
	if isHeld(ctx, id) {
		return nil, ErrLockReentrant
	}
	if !s.manager.blocks.enter() {
		return nil, ErrClosed
	}
	held, err := strategy.Enter(ctx, lock.Request{Key: physical, Timing: timing})
	if err != nil {
		s.manager.blocks.leave()
		return nil, err
	}
	s.passOnWarnings(opened, name)
	return &heldLock{id: id, key: l.key, Held: held, outer: innermost(ctx)}, nil
}

func (l *CacheLock) leave(ctx context.Context, held *heldLock) error {
	defer l.backend.store.manager.blocks.leave()
	bounded := lazyctx.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer bounded.End()
	if err := held.Release(bounded); err != nil {
		return l.fail(fmt.Errorf("release: %w", err))
	}
	return nil
}

// strategy is the lock's own, else the store's, else what the driver announced.
func (l *CacheLock) strategy(o *openedStore) string {
	if l.options.strategy != "" {
		return l.options.strategy
	}
	return l.backend.store.strategy(o)
}

// timing puts the lock's own options over the store's. Timeout and wait replace
// each other, since both limit the wait.
func (l *CacheLock) timing() lock.Timing {
	t := l.options.timing
	if l.options.strategy != "" {
		return t
	}
	store := l.backend.store.timing
	if t.Timeout == nil && t.Wait == nil {
		t.Timeout, t.Wait = store.Timeout, store.Wait
	}
	if t.Lease == nil {
		t.Lease = store.Lease
	}
	return t
}

func (l *CacheLock) fail(err error) error {
	s := l.backend.store
	return &Error{Op: string(OpLock), Store: s.name, Driver: s.driver, Key: l.key, Err: err}
}
