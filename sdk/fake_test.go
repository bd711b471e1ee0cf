package sdk

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A fakeStore is a map with every optional interface. A hook replaces or
// precedes what a call does.
type fakeStore struct {
	mu      sync.Mutex
	entries map[string][]byte

	traits Traits
	before func(ctx context.Context, op, key string) error // an error ends the call
	closed atomic.Int32
}

func (s *fakeStore) enter(ctx context.Context, op, key string) error {
	if s.before == nil {
		return nil
	}
	return s.before(ctx, op, key)
}

func (s *fakeStore) Traits() Traits { return s.traits }

func (s *fakeStore) Close() error {
	s.closed.Add(1)
	return s.enter(context.Background(), "close", "")
}

func (s *fakeStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if err := s.enter(ctx, "get", key); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.entries[key]
	return value, ok, nil
}

func (s *fakeStore) Set(ctx context.Context, key string, value []byte, _ time.Duration) error {
	if err := s.enter(ctx, "set", key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = make(map[string][]byte)
	}
	s.entries[key] = bytes.Clone(value)
	return nil
}

func (s *fakeStore) Delete(ctx context.Context, key string) (bool, error) {
	if err := s.enter(ctx, "delete", key); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.entries[key]
	delete(s.entries, key)
	return ok, nil
}

func (s *fakeStore) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	if _, ok, err := s.Get(ctx, key); ok || err != nil {
		return false, err
	}
	return true, s.Set(ctx, key, value, ttl)
}

func (s *fakeStore) Pull(ctx context.Context, key string) ([]byte, bool, error) {
	value, ok, err := s.Get(ctx, key)
	if err == nil {
		_, err = s.Delete(ctx, key)
	}
	return value, ok, err
}

func (s *fakeStore) Keys(ctx context.Context, prefix string, _ []byte, limit int) ([]string, []byte, error) {
	if err := s.enter(ctx, "keys", prefix); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.entries {
		keys = append(keys, key)
	}
	return keys[:min(len(keys), limit)], nil, nil
}

func (s *fakeStore) WaitLease(ctx context.Context, r LeaseRequest) error {
	if err := s.enter(ctx, "wait-lease", r.Key); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}
