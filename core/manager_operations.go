package core

import (
	"context"
	"time"
)

// Get is ICacheManager's, on the default store, as are all methods here.
func (m *CacheManager) Get(ctx context.Context, key string) (Value, error) {
	return m.fallback.Get(ctx, key)
}

// Set is ICacheManager's.
func (m *CacheManager) Set(ctx context.Context, key string, value any, ttl time.Duration) error {
	return m.fallback.Set(ctx, key, value, ttl)
}

// Has is ICacheManager's.
func (m *CacheManager) Has(ctx context.Context, key string) (bool, error) {
	return m.fallback.Has(ctx, key)
}

// Delete is ICacheManager's.
func (m *CacheManager) Delete(ctx context.Context, key string) (bool, error) {
	return m.fallback.Delete(ctx, key)
}

// Clear is ICacheManager's.
func (m *CacheManager) Clear(ctx context.Context) error { return m.fallback.Clear(ctx) }

// GetMany is ICacheManager's.
func (m *CacheManager) GetMany(ctx context.Context, keys []string) (map[string]Value, error) {
	return m.fallback.GetMany(ctx, keys)
}

// SetMany is ICacheManager's.
func (m *CacheManager) SetMany(ctx context.Context, values map[string]any, ttl time.Duration) error {
	return m.fallback.SetMany(ctx, values, ttl)
}

// Remember is ICacheManager's.
func (m *CacheManager) Remember(ctx context.Context, key string, ttl time.Duration, resolve func(context.Context) (any, error), opts ...RememberOption) (Value, error) {
	return m.fallback.Remember(ctx, key, ttl, resolve, opts...)
}

// RememberForever is ICacheManager's.
func (m *CacheManager) RememberForever(ctx context.Context, key string, resolve func(context.Context) (any, error), opts ...RememberOption) (Value, error) {
	return m.fallback.RememberForever(ctx, key, resolve, opts...)
}

func (m *CacheManager) remember(ctx context.Context, key string, ttl time.Duration, accept func(Value) error, resolve func(context.Context) (any, error), opts []RememberOption) (Value, error) {
	return m.fallback.remember(ctx, key, ttl, accept, resolve, opts)
}

// Pull is ICacheManager's.
func (m *CacheManager) Pull(ctx context.Context, key string) (Value, error) {
	return m.fallback.Pull(ctx, key)
}

// Add is ICacheManager's.
func (m *CacheManager) Add(ctx context.Context, key string, value any, ttl time.Duration) (bool, error) {
	return m.fallback.Add(ctx, key, value, ttl)
}

// Increment is ICacheManager's.
func (m *CacheManager) Increment(ctx context.Context, key string, delta int64, opts ...CounterOption) (int64, error) {
	return m.fallback.Increment(ctx, key, delta, opts...)
}

// Decrement is ICacheManager's.
func (m *CacheManager) Decrement(ctx context.Context, key string, delta int64, opts ...CounterOption) (int64, error) {
	return m.fallback.Decrement(ctx, key, delta, opts...)
}

// Lock is Locker's.
func (m *CacheManager) Lock(key string, opts ...LockOption) *CacheLock {
	return m.fallback.Lock(key, opts...)
}
