// Command acme is a driver that somebody else wrote: a module of its own that
// imports package sdk and nothing else of Cachewright.
package main

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// Driver is what main serves and what the test proves.
var Driver = sdk.Define("acme", "1.0.0", open)

func main() { sdk.Serve(Driver) }

type options struct {
	Room int `option:"room" default:"1024" doc:"entries to make room for at the start"`
}

// A store keeps entries in the memory of the driver's process.
type store struct {
	mu      sync.Mutex // guards below
	entries map[string]entry
}

type entry struct {
	value []byte
	ends  time.Time // zero: never
}

func open(_ context.Context, o options) (*store, error) {
	return &store{entries: make(map[string]entry, max(o.Room, 0))}, nil
}

// Traits say that data lives and dies with the process.
func (s *store) Traits() sdk.Traits { return sdk.Traits{Class: sdk.ClassVolatile} }

func (s *store) Get(ctx context.Context, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.live(key)
	return e.value, ok, nil
}

func (s *store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, value, ttl)
	return nil
}

func (s *store) Delete(ctx context.Context, key string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, existed := s.live(key)
	delete(s.entries, key)
	return existed, nil
}

func (s *store) Close() error { return nil }

// live finds an entry that has not expired.
func (s *store) live(key string) (entry, bool) {
	e, ok := s.entries[key]
	if !ok || !e.ends.IsZero() && !time.Now().Before(e.ends) {
		return entry{}, false
	}
	return e, true
}

// put copies the value, which is the caller's again afterwards.
func (s *store) put(key string, value []byte, ttl time.Duration) {
	e := entry{value: bytes.Clone(value)}
	if ttl != sdk.NoExpiry {
		e.ends = time.Now().Add(ttl)
	}
	s.entries[key] = e
}
