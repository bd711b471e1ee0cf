package core_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// A source is what resolvers of a test ask: it counts, takes its time, fails.
type source struct {
	mu      sync.Mutex // guards below
	asked   int
	running int
	most    int // that ran at the same time
	takes   time.Duration
	err     error
	crash   any
}

func (s *source) set(takes time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takes, s.err = takes, err
}

func (s *source) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// resolve answers with how often it was asked.
func (s *source) resolve(ctx context.Context) (any, error) {
	s.mu.Lock()
	s.asked++
	s.running++
	s.most = max(s.most, s.running)
	answer, takes, err, crash := s.asked, s.takes, s.err, s.crash
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}()
	if takes > 0 {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if crash != nil {
		panic(crash)
	}
	return answer, err
}

var errSource = errors.New("the source is down")

// silent is the log of tests that provoke what is logged.
var silent = slog.New(slog.DiscardHandler)

// ask is one Remember, whose answer is a number, or 0 and an error.
func (s *source) ask(t *testing.T, r *cache.CacheRepository, opts ...cache.RememberOption) (n int, stale bool, err error) {
	t.Helper()
	v, err := r.Remember(t.Context(), "k", time.Minute, s.resolve, opts...)
	if err != nil {
		return 0, false, err
	}
	if err := v.Decode(&n); err != nil {
		t.Fatal(err)
	}
	return n, v.Stale(), nil
}

func (s *source) want(t *testing.T, r *cache.CacheRepository, want int, wantStale bool, opts ...cache.RememberOption) {
	t.Helper()
	if n, stale, err := s.ask(t, r, opts...); n != want || stale != wantStale || err != nil {
		t.Errorf("Remember: %d, stale %t, %v; want %d, stale %t", n, stale, err, want, wantStale)
	}
}
