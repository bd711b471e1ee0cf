package core_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/inproc"
	"github.com/cachewright/cachewright/sdk"
)

// A fake is a driver in this process that keeps its data in a map and lists
// every call, so that tests see what reached it and can make it fail.
type fake struct {
	traits sdk.Traits

	mu      sync.Mutex // guards below
	entries map[string]entry
	calls   []string
	opens   int
	fail    map[string]error // by operation: what it answers instead
	before  func(op, key string)
	rows    map[string]row // leases
	owners  []string       // of all attempts to acquire one
	woken   chan struct{}  // closed, and replaced, with every release
	stats   []sdk.Stat     // beside the number of entries
}

type entry struct {
	value   []byte
	expires time.Time // zero: never
}

func newFake() *fake {
	return &fake{
		traits:  sdk.Traits{LockStrategy: sdk.StrategyLocal},
		entries: map[string]entry{},
		fail:    map[string]error{},
		rows:    map[string]row{},
		woken:   make(chan struct{}),
	}
}

type fakeOptions struct {
	Size sdk.Bytes `option:"size" default:"1KiB" doc:"unused"`
}

func (f *fake) driver(name string) sdk.Driver {
	return sdk.Define(name, "1.2.3", func(context.Context, fakeOptions) (*fakeStore, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.opens++
		if err := f.fail["open"]; err != nil {
			return nil, err
		}
		return &fakeStore{fake: f}, nil
	})
}

// open opens a manager whose one store, or whose stores, use the fake.
func (f *fake) open(t *testing.T, c cache.Config, opts ...cache.Option) *cache.CacheManager {
	t.Helper()
	m, err := f.tryOpen(t, c, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return m
}

func (f *fake) tryOpen(t *testing.T, c cache.Config, opts ...cache.Option) (*cache.CacheManager, error) {
	t.Helper()
	if c.Stores == nil {
		c.Stores = map[string]cache.StoreConfig{"main": {Driver: "fake"}}
	}
	if c.Default == "" {
		c.Default = "main"
	}
	ctx := inproc.With(t.Context(), map[string]sdk.Driver{"fake": f.driver("fake")})
	return cache.OpenConfig(ctx, c, opts...)
}

// repository opens a manager with one store.
func (f *fake) repository(t *testing.T, opts ...cache.Option) *cache.CacheRepository {
	t.Helper()
	return repository(t, f.open(t, cache.Config{}, opts...), "main")
}

func repository(t *testing.T, m *cache.CacheManager, name string) *cache.CacheRepository {
	t.Helper()
	r, err := m.Store(name)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*cache.CacheRepository)
}

// seen returns and forgets the calls so far.
func (f *fake) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// failing makes an operation answer with err; nil ends it.
func (f *fake) failing(op string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail[op] = err
}

// plant puts bytes under a physical key, past everything.
func (f *fake) plant(key, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries[key] = entry{value: []byte(value)}
}

func (f *fake) stored(key string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.live(key)
	return string(e.value), ok
}

func (f *fake) live(key string) (entry, bool) {
	e, ok := f.entries[key]
	if ok && !e.expires.IsZero() && !time.Now().Before(e.expires) {
		return entry{}, false
	}
	return e, ok
}

// A fakeStore is the fake as sdk sees it.
type fakeStore struct{ *fake }

// call lists the call, and runs the test's hook outside the mutex.
func (s *fakeStore) call(op, key string) error {
	s.mu.Lock()
	s.calls = append(s.calls, strings.TrimSpace(op+" "+key))
	before, err := s.before, s.fail[op]
	s.mu.Unlock()
	if before != nil {
		before(op, key)
	}
	return err
}

func (s *fakeStore) Traits() sdk.Traits { return s.traits }
func (s *fakeStore) Close() error       { return s.call("close", "") }

func (s *fakeStore) Get(_ context.Context, key string) ([]byte, bool, error) {
	if err := s.call("get", key); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.live(key)
	return e.value, ok, nil
}

func (s *fakeStore) Set(_ context.Context, key string, value []byte, ttl time.Duration) error {
	if err := s.call("set", key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, value, ttl)
	return nil
}

func (s *fakeStore) put(key string, value []byte, ttl time.Duration) {
	e := entry{value: bytes.Clone(value)}
	if ttl != sdk.NoExpiry {
		e.expires = time.Now().Add(ttl)
	}
	s.entries[key] = e
}

func (s *fakeStore) Delete(_ context.Context, key string) (bool, error) {
	if err := s.call("delete", key); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.live(key)
	delete(s.entries, key)
	return ok, nil
}

func (s *fakeStore) Add(_ context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	return s.putIf("add", key, value, ttl, false)
}

func (s *fakeStore) Replace(_ context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	return s.putIf("replace", key, value, ttl, true)
}

func (s *fakeStore) putIf(op, key string, value []byte, ttl time.Duration, want bool) (bool, error) {
	if err := s.call(op, key); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.live(key); ok != want {
		return false, nil
	}
	s.put(key, value, ttl)
	return true, nil
}

func (s *fakeStore) Pull(_ context.Context, key string) ([]byte, bool, error) {
	if err := s.call("pull", key); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.live(key)
	delete(s.entries, key)
	return e.value, ok, nil
}

func (s *fakeStore) Increment(_ context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
	if err := s.call("increment", key); err != nil {
		return 0, err
	}
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
	e.value = sdk.FormatInteger(sum)
	s.entries[key] = e
	return sum, nil
}

func (s *fakeStore) TTL(_ context.Context, key string) (time.Duration, bool, error) {
	if err := s.call("ttl", key); err != nil {
		return 0, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.live(key)
	if !ok || e.expires.IsZero() {
		return sdk.NoExpiry, ok, nil
	}
	return time.Until(e.expires), true, nil
}

func (s *fakeStore) Touch(_ context.Context, key string, ttl time.Duration) (bool, error) {
	if err := s.call("touch", key); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.live(key)
	if ok {
		s.put(key, e.value, ttl)
	}
	return ok, nil
}

// Keys goes in pages of two, so that paging is seen.
func (s *fakeStore) Keys(_ context.Context, prefix string, cursor []byte, _ int) ([]string, []byte, error) {
	if err := s.call("keys", prefix); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.entries {
		if _, ok := s.live(key); ok && strings.HasPrefix(key, prefix) && key > string(cursor) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if len(keys) <= 2 {
		return keys, nil, nil
	}
	return keys[:2], []byte(keys[1]), nil
}

func (s *fakeStore) Clear(_ context.Context, prefix string, _ []byte) ([]byte, int, error) {
	if err := s.call("clear", prefix); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.entries {
		if strings.HasPrefix(key, prefix) {
			delete(s.entries, key)
			return []byte("more"), 1, nil
		}
	}
	return nil, 0, nil
}

func (s *fakeStore) Stats(context.Context) ([]sdk.Stat, error) {
	if err := s.call("stats", ""); err != nil {
		return nil, err
	}
	return append([]sdk.Stat{{Name: "entries", Value: fmt.Sprint(len(s.entries))}}, s.stats...), nil
}
