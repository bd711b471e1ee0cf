package core

import (
	"context"
	"errors"
	"sync"
	"time"
)

// rememberWith is Remember with options. The resolver may run in another
// goroutine and outlive the call, so that nothing of it is shared with the
// caller but the Value.
func (t Typed[T]) rememberWith(ctx context.Context, key string, ttl time.Duration, resolve func(context.Context) (T, error), opts []RememberOption) (T, error) {
	var last accepted[T]
	untyped := func(ctx context.Context) (any, error) { return resolve(ctx) }
	v, err := t.rememberValue(ctx, key, ttl, last.accept, untyped, opts)
	if !v.Found() {
		var none T
		return none, err
	}
	value, failure := last.decode(v)
	if failure != nil {
		var none T
		return none, errors.Join(err, inRemember(failure))
	}
	return value, err
}

func (t Typed[T]) rememberValue(ctx context.Context, key string, ttl time.Duration, accept func(Value) error, resolve func(context.Context) (any, error), opts []RememberOption) (Value, error) {
	if r, ok := t.repository.(rememberer); ok {
		return r.remember(ctx, key, ttl, accept, resolve, opts)
	}
	return t.repository.Remember(ctx, key, ttl, resolve, opts...)
}

// accepted keeps the last value that was decoded to find out whether it can be:
// mostly it is the answer.
type accepted[T any] struct {
	mu    sync.Mutex
	from  []byte
	value T
}

func (a *accepted[T]) accept(v Value) error {
	var value T
	if err := v.Decode(&value); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.from, a.value = v.data, value
	return nil
}

func (a *accepted[T]) decode(v Value) (value T, err error) {
	a.mu.Lock()
	if same(a.from, v.data) {
		defer a.mu.Unlock()
		return a.value, nil
	}
	a.mu.Unlock()
	err = v.Decode(&value)
	return value, err
}

// same reports whether both are the same bytes in memory.
func same(a, b []byte) bool {
	return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0]
}
