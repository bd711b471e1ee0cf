package core

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Remember is ICacheRepository's.
func (r *CacheRepository) Remember(ctx context.Context, key string, ttl time.Duration, resolve func(context.Context) (any, error), opts ...RememberOption) (Value, error) {
	return r.remember(ctx, key, ttl, func(Value) error { return nil }, resolve, opts)
}

// RememberForever is ICacheRepository's.
func (r *CacheRepository) RememberForever(ctx context.Context, key string, resolve func(context.Context) (any, error), opts ...RememberOption) (Value, error) {
	return r.Remember(ctx, key, Forever, resolve, opts...)
}

// remember computes anew what can't be read or what accept refuses, so that a
// corrupt entry or one of another type is no outage; hooks count it.
func (r *CacheRepository) remember(ctx context.Context, key string, ttl time.Duration, accept func(Value) error, resolve func(context.Context) (any, error), opts []RememberOption) (Value, error) {
	if len(opts) > 0 {
		return r.rememberWith(ctx, key, ttl, accept, resolve, opts)
	}
	ttl, err := r.store.lifetime(ttl)
	if err != nil {
		return Value{}, r.fail(OpRemember, key, err)
	}
	v, err := r.Get(ctx, key)
	if err == nil && v.Found() {
		err = accept(v)
	}
	switch {
	case err == nil && v.Found():
		return v, nil
	case unusable(err):
		r.note(ctx, OpRecompute, key, err)
	case err != nil:
		return Value{}, inRemember(err)
	}
	return r.compute(ctx, key, ttl, resolve)
}

func (r *CacheRepository) compute(ctx context.Context, key string, ttl time.Duration, resolve func(context.Context) (any, error)) (Value, error) {
	resolved, err := resolve(ctx)
	if err != nil {
		return Value{}, err
	}
	data, err := r.encode(OpRemember, key, resolved)
	if err != nil {
		return Value{}, err
	}
	err = r.set(ctx, key, written{data: escaped(data), integer: isInteger(resolved)}, ttl)
	return r.value(key, data, 0, true), r.store.spare(ctx, inRemember(err))
}

// inRemember makes the error of a call that Remember made one of Remember, which
// says what the call was. What a resolver returns is never given to it.
func inRemember(err error) error {
	part, ok := err.(*Error)
	if !ok {
		return err
	}
	return &Error{Op: string(OpRemember), Store: part.Store, Driver: part.Driver, Key: part.Key, Err: fmt.Errorf("%s: %w", part.Op, part.Err)}
}

// underLock is DoValue for Remember.
func underLock(ctx context.Context, lock *CacheLock, fn func(context.Context) (Value, error)) (Value, error) {
	entered := false
	v, err := DoValue(ctx, lock, func(ctx context.Context) (Value, error) {
		entered = true
		return fn(ctx)
	})
	if !entered {
		err = inRemember(err)
	}
	return v, err
}

// unusable tells an entry that has to be computed anew from a failure.
func unusable(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrWrongType) || errors.Is(err, ErrNull)
}

// note tells hooks of something that happened beside a call.
func (r *CacheRepository) note(ctx context.Context, op Op, key string, reason error) {
	s := r.store
	c := Call{Op: op, Store: s.name, Driver: s.driver, Key: key, Keys: 1}
	ctx, started, err := startHooks(ctx, s.manager.hooks, c)
	if err == nil {
		_ = endHooks(ctx, s.manager.hooks[:started], c, Outcome{Err: reason})
	}
}
