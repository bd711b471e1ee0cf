package main

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// Add makes the store an sdk.Adder: the mutex makes it atomic.
func (s *store) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.live(key); taken {
		return false, nil
	}
	s.put(key, value, ttl)
	return true, nil
}

// Increment makes it an sdk.Counter.
func (s *store) Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.live(key)
	if !ok {
		s.put(key, sdk.FormatInteger(delta), initialTTL)
		return delta, nil
	}
	sum, err := sdk.AddInteger(e.value, delta)
	if err != nil {
		return 0, err
	}
	s.entries[key] = entry{sdk.FormatInteger(sum), e.ends}
	return sum, nil
}
