package core

import (
	"context"
	"errors"
	"time"
)

// A load is one Remember with options: its caller's, and where it is the first
// to miss, what all wait for.
type load struct {
	*CacheRepository
	*policy
	key     string
	ttl     time.Duration
	accept  func(Value) error // called concurrently
	resolve func(context.Context) (any, error)
	had     entry  // what the caller read
	seen    uint64 // how many loads had ended before
}

func (r *CacheRepository) rememberWith(ctx context.Context, key string, ttl time.Duration, accept func(Value) error, resolve func(context.Context) (any, error), opts []RememberOption) (v Value, err error) {
	p, err := policyOf(opts)
	if err == nil {
		ttl, err = r.store.lifetime(ttl)
	}
	if err != nil {
		return Value{}, r.fail(OpRemember, key, err)
	}
	l := &load{CacheRepository: r, policy: p, key: key, ttl: ttl, accept: accept, resolve: resolve}
	if p.detached {
		l.seen = r.store.loads.ended.Load()
	}
	if l.had, err = l.look(ctx); err != nil {
		return Value{}, err
	}
	switch l.had.state {
	case stateFresh:
		return l.had.Value, l.refreshIfDue(ctx)
	case stateAbsent:
		return Value{}, r.fail(OpRemember, key, ErrNotFound)
	case stateStale:
		if p.pause > 0 && r.store.loads.isPaused(l.id()) {
			return l.stale(ctx, errPaused), nil
		}
	}
	v, err = l.fetch(ctx)
	if l.had.state == stateStale && failed(v, err) && ctx.Err() == nil {
		return l.stale(ctx, err), nil
	}
	return v, err
}

var errPaused = errors.New("the resolver failed a short while ago")

// failed tells a resolver that failed from one that answered, and from a value
// that only could not be stored.
func failed(v Value, err error) bool {
	return err != nil && !v.Found() && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrClosed)
}

// inVain tells that the next caller would run the resolver again and have a value
// to serve meanwhile: one past its TTL, or one whose refresh put nothing in its
// place. Without such a value there is nothing to remember of a failure.
func (l *load) inVain(v Value, err error) bool {
	switch l.had.state {
	case stateStale:
		return failed(v, err)
	case stateFresh:
		return err != nil && !errors.Is(err, ErrClosed)
	}
	return false
}

func (l *load) id() loadKey { return loadKey{l.key, l.codec.Name()} }

// stale is the value past its TTL, served because of reason, which hooks get.
func (l *load) stale(ctx context.Context, reason error) Value {
	l.note(ctx, OpStale, l.key, reason)
	v := l.had.Value
	v.stale = true
	return v
}

// refreshIfDue starts a load that nobody waits for. A manager that closes
// starts none, and the hit is a hit.
func (l *load) refreshIfDue(ctx context.Context) error {
	if !l.due(l.had.envelope, time.Now()) || l.pause > 0 && l.store.loads.isPaused(l.id()) {
		return nil
	}
	_, err := l.store.loads.join(ctx, l.id(), l.limit, l.seen, 0, l.detachedRun)
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// fetch lets the resolver run, here or detached.
func (l *load) fetch(ctx context.Context) (Value, error) {
	if !l.detached {
		return l.run(ctx, false)
	}
	a, err := l.store.loads.join(ctx, l.id(), l.limit, l.seen, 1, l.detachedRun)
	if err != nil {
		return Value{}, l.fail(OpRemember, l.key, err)
	}
	v, err := l.store.loads.wait(ctx, a, l.patience())
	if l.gaveUp(ctx, v, err) {
		err = l.fail(OpRemember, l.key, err)
	}
	return v, err
}

// gaveUp tells an end of the wait, or of the load, that nobody has named yet.
func (l *load) gaveUp(ctx context.Context, v Value, err error) bool {
	if _, named := err.(*Error); named || err == nil || v.Found() {
		return false
	}
	return errors.Is(err, ErrResolverTimeout) || errors.Is(err, ErrClosed) || err == errNoResolve || err == ctx.Err()
}

// patience is how long this caller waits; 0 is as long as the load may take.
func (l *load) patience() time.Duration {
	if l.soft > 0 && l.had.state == stateStale {
		return l.soft
	}
	return l.hard
}

// detachedRun is run as hooks see it.
func (l *load) detachedRun(ctx context.Context, again bool) (v Value, err error) {
	s := l.store
	c := Call{Op: OpLoad, Store: s.name, Driver: s.driver, Key: l.key, Keys: 1}
	hooked, started, err := startHooks(ctx, s.manager.hooks, c)
	outcome := errNoResolve
	defer func() {
		_ = endHooks(hooked, s.manager.hooks[:started], c, Outcome{Bytes: len(v.data), Err: outcome})
	}()
	if err == nil {
		v, err = l.run(hooked, again)
	}
	outcome = err
	return v, err
}

// run resolves and stores, under the lock if there is one to be. again asks for
// a look at what another load may have stored.
func (l *load) run(ctx context.Context, again bool) (v Value, err error) {
	outcome := errNoResolve
	defer func() {
		callerLeft := !l.detached && ctx.Err() != nil
		if l.pause > 0 && l.inVain(v, outcome) && !callerLeft {
			l.store.loads.pause(l.id(), l.pause)
		}
	}()
	if l.locked {
		v, err = underLock(ctx, l.Lock(l.key, l.lock...), func(ctx context.Context) (Value, error) { return l.attempt(ctx, true) })
	} else {
		v, err = l.attempt(ctx, again)
	}
	outcome = err
	return v, err
}

func (l *load) attempt(ctx context.Context, again bool) (Value, error) {
	if !again {
		return l.compute(ctx)
	}
	bounded, cancel := l.bounded(ctx)
	now, err := l.look(bounded)
	cancel()
	if l.detached { // with a deadline that no caller chose
		err = l.store.spare(context.WithoutCancel(ctx), err)
	}
	switch {
	case err != nil:
		return Value{}, err
	case now.state == stateAbsent:
		return Value{}, l.fail(OpRemember, l.key, ErrNotFound)
	case now.state == stateFresh && !(l.had.state == stateFresh && now.written.Equal(l.had.written)):
		return now.Value, nil
	}
	return l.compute(ctx)
}

// bounded gives a call the store's timeout, since the deadline of a detached
// load is none that a caller chose.
func (l *load) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if !l.detached {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, l.store.timeout)
}

func (l *load) compute(ctx context.Context) (Value, error) {
	start := time.Now()
	resolved, err := l.resolve(ctx)
	if errors.Is(err, ErrNotFound) && l.negative > 0 {
		return Value{}, errors.Join(err, l.keep(ctx, &envelope{kind: kindAbsent}, nil, l.negative, 0))
	}
	if err != nil {
		return Value{}, err
	}
	payload, err := l.encode(OpRemember, l.key, resolved)
	if err != nil {
		return Value{}, err
	}
	v := l.value(l.key, payload, 0, true)
	ttl, err := l.lifetimeOf(resolved)
	if err != nil {
		return v, l.fail(OpRemember, l.key, err)
	}
	if ttl <= 0 {
		return v, nil
	}
	e := envelope{kind: kindValue, took: time.Since(start), payload: payload}
	err = l.keep(ctx, &e, resolved, ttl, l.policy.stale)
	v.due = int64(unixMilli(e.due))
	return v, err
}

// lifetimeOf is the TTL of a value that was resolved just now; without one it is
// not stored.
func (l *load) lifetimeOf(value any) (ttl time.Duration, err error) {
	ttl = l.ttl
	if l.choose != nil {
		ttl, err = l.choose(value)
	}
	if err == nil && ttl == DefaultTTL {
		ttl, err = l.store.lifetime(ttl)
	}
	if err != nil || ttl <= 0 {
		return 0, err
	}
	return shortened(ttl, l.jitter), nil
}

// keep stores an entry for its TTL, and a value for more time after it. e gets
// its times where they are stored with it.
func (l *load) keep(ctx context.Context, e *envelope, resolved any, ttl, more time.Duration) error {
	bounded, cancel := l.bounded(ctx)
	defer cancel()
	if l.detached { // with a deadline that no caller chose
		ctx = context.WithoutCancel(ctx)
	}
	if e.kind == kindValue && !l.headed() {
		err := l.set(bounded, l.key, written{data: escaped(e.payload), integer: isInteger(resolved)}, ttl)
		return l.store.spare(ctx, inRemember(err))
	}
	ttl = l.store.jittered(OpSet, ttl)
	e.written = time.Now()
	e.due = dueAt(e.written, ttl)
	err := l.set(bounded, l.key, written{data: e.sealed(), settled: true}, longer(ttl, more))
	return l.store.spare(ctx, inRemember(err))
}
