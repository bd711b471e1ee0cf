package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// DoValue is Do for a block that returns a value. With an error other than nil
// the value is what the block returned, or the zero T if it did not run.
func DoValue[T any](ctx context.Context, lock *CacheLock, fn func(context.Context) (T, error)) (T, error) {
	var value T
	err := lock.Do(ctx, func(ctx context.Context) error {
		var err error
		value, err = fn(ctx)
		return err
	})
	return value, err
}

// DoMany runs fn under the locks of all keys, or under none: if one can't be
// entered, those entered before are left and fn does not run. Keys are entered
// in the order of their physical keys, duplicates once, so that two DoMany of
// overlapping keys don't block each other. opts apply to each lock.
func DoMany(ctx context.Context, locker Locker, keys []string, fn func(context.Context) error, opts ...LockOption) error {
	sorted := slices.Compact(slices.Sorted(slices.Values(keys)))
	for _, key := range slices.Backward(sorted) {
		lock, inner := locker.Lock(key, opts...), fn
		fn = func(ctx context.Context) error { return lock.Do(ctx, inner) }
	}
	return fn(ctx)
}

// RememberLocked is Remember under a lock: it reads key, and on a miss enters
// the lock of that key, reads again, and runs resolve only if the entry is still
// absent. It saves duplicate work as far as the store's lock strategy reaches
// and is never exactly-once. The repository has to be a Locker, as those of a
// CacheManager are; another fails with an error that matches
// errors.ErrUnsupported. To combine the lock with options of Remember, give
// Remember UnderLock among them.
func RememberLocked(ctx context.Context, repository CacheOperations, key string, ttl time.Duration, resolve func(context.Context) (any, error), opts ...LockOption) (Value, error) {
	locker, ok := repository.(Locker)
	if !ok {
		return Value{}, fmt.Errorf("cache: %T is no Locker: %w", repository, errors.ErrUnsupported)
	}
	if err := checkTTL(ttl); err != nil && ttl != DefaultTTL {
		return Value{}, &Error{Op: string(OpRemember), Key: key, Err: err}
	}
	v, err := repository.Get(ctx, key)
	if err == nil && v.Found() || err != nil && !unusable(err) {
		return v, inRemember(err)
	}
	return underLock(ctx, locker.Lock(key, opts...), func(ctx context.Context) (Value, error) {
		return repository.Remember(ctx, key, ttl, resolve)
	})
}
