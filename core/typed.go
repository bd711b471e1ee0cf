package core

import (
	"context"
	"errors"
	"maps"
	"time"
)

// Typed is a view of a repository or manager whose values are of type T.
// Methods are as CacheOperations describes them, with T for Value: a miss is
// the zero T and false, a value that does not decode into T is an error.
type Typed[T any] struct {
	repository CacheOperations
}

// Of is the typed view of a repository, or of a manager's default store.
func Of[T any](repository CacheOperations) Typed[T] {
	return Typed[T]{repository}
}

// Get reads key. A stored null is found: the zero T where T has nil, else
// ErrNull.
func (t Typed[T]) Get(ctx context.Context, key string) (T, bool, error) {
	return decoded[T](t.repository.Get(ctx, key))
}

// Pull reads key and removes it.
func (t Typed[T]) Pull(ctx context.Context, key string) (T, bool, error) {
	return decoded[T](t.repository.Pull(ctx, key))
}

// Set stores value for ttl.
func (t Typed[T]) Set(ctx context.Context, key string, value T, ttl time.Duration) error {
	return t.repository.Set(ctx, key, value, ttl)
}

// Add stores value only where nothing is.
func (t Typed[T]) Add(ctx context.Context, key string, value T, ttl time.Duration) (bool, error) {
	return t.repository.Add(ctx, key, value, ttl)
}

// GetMany holds the keys that were found. If some can't be read, or not as T, the
// error is a *BatchError that names them, and the others are there.
func (t Typed[T]) GetMany(ctx context.Context, keys []string) (map[string]T, error) {
	values, err := t.repository.GetMany(ctx, keys)
	unread, partly := errors.AsType[*BatchError](err)
	if err != nil && !partly {
		return nil, err
	}
	found := make(map[string]T, len(values))
	failed := make(map[string]error)
	for key, v := range values {
		switch value, ok, err := decoded[T](v, nil); {
		case err != nil:
			failed[key] = err
		case ok:
			found[key] = value
		}
	}
	if len(failed) == 0 {
		return found, err
	}
	if partly {
		maps.Copy(failed, unread.Failed)
	}
	return found, &BatchError{failed}
}

// SetMany stores all values for ttl.
func (t Typed[T]) SetMany(ctx context.Context, values map[string]T, ttl time.Duration) error {
	anys := make(map[string]any, len(values))
	for key, v := range values {
		anys[key] = v
	}
	return t.repository.SetMany(ctx, anys, ttl)
}

// Remember reads key and, on a miss, stores what resolve returns. An entry of
// another type is computed anew and overwritten, so that a deploy which changes
// T is no outage. With options the value is what was stored, decoded: it may be
// another caller's.
func (t Typed[T]) Remember(ctx context.Context, key string, ttl time.Duration, resolve func(context.Context) (T, error), opts ...RememberOption) (T, error) {
	if len(opts) > 0 {
		return t.rememberWith(ctx, key, ttl, resolve, opts)
	}
	var value, none T
	accept := func(v Value) error {
		value = none
		return v.Decode(&value)
	}
	fresh := false
	err := t.remember(ctx, key, ttl, accept, func(ctx context.Context) (any, error) {
		var err error
		value, err = resolve(ctx)
		fresh = err == nil
		return value, err
	})
	if err != nil && !fresh {
		return none, err
	}
	return value, err
}

// RememberForever is Remember with Forever.
func (t Typed[T]) RememberForever(ctx context.Context, key string, resolve func(context.Context) (T, error), opts ...RememberOption) (T, error) {
	return t.Remember(ctx, key, Forever, resolve, opts...)
}

// A rememberer can refuse a hit; the concrete types do.
type rememberer interface {
	remember(ctx context.Context, key string, ttl time.Duration, accept func(Value) error, resolve func(context.Context) (any, error), opts []RememberOption) (Value, error)
}

func (t Typed[T]) remember(ctx context.Context, key string, ttl time.Duration, accept func(Value) error, resolve func(context.Context) (any, error)) error {
	if r, ok := t.repository.(rememberer); ok {
		_, err := r.remember(ctx, key, ttl, accept, resolve, nil)
		return err
	}
	v, err := t.repository.Remember(ctx, key, ttl, resolve)
	if err != nil {
		return err
	}
	if err := accept(v); !unusable(err) {
		return inRemember(err)
	}
	resolved, err := resolve(ctx)
	if err != nil {
		return err
	}
	return inRemember(t.repository.Set(ctx, key, resolved, ttl))
}

func decoded[T any](v Value, err error) (T, bool, error) {
	var value T
	if err != nil || !v.Found() {
		return value, false, err
	}
	if err := v.Decode(&value); err != nil {
		var none T
		return none, false, err
	}
	return value, true, nil
}
