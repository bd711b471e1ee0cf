package memcached

import (
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// health is whether a server can be reached. One that can't is left alone for
// a while, longer each time; until then calls fail at once. Then one call finds
// out.
type health struct {
	failures int // in a row; 0: the server is up
	until    time.Time
	cause    error
}

// admit refuses calls to a server that is down, under mu.
func (s *server) admit() error {
	if s.health.failures == 0 {
		return nil
	}
	now := time.Now()
	if wait := s.health.until.Sub(now); wait > 0 {
		return s.unavailable(s.health.cause, fmt.Sprintf("; it is left alone for another %v", wait.Round(time.Millisecond)))
	}
	s.health.until = now.Add(s.dialTimeout) // for the call that finds out
	return nil
}

// fail notes that the server can't be reached, as seen from a connection of
// the epoch, and lets go of all who wait.
func (s *server) fail(epoch int64, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch.Load() != epoch || s.closed {
		return // somebody has noted it
	}
	s.epoch.Add(1)
	s.health.failures++
	s.health.until = time.Now().Add(pause(s.health.failures))
	s.health.cause = cause
	s.dismiss(s.unavailable(cause, ""))
}

// reached notes a connection that was made. It is false if the store has closed
// meanwhile.
func (s *server) reached(epoch int64, l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.epoch.Load() == epoch {
		s.health = health{}
	}
	s.links[l] = struct{}{}
	return true
}

// dismiss ends all that waits with an error, under mu.
func (s *server) dismiss(err error) {
	for _, j := range s.jobs.take(func(*job) bool { return true }) {
		j.end(nil, err)
	}
	for _, l := range s.lookups.take(func(*lookup) bool { return true }) {
		l.end(nil, err)
	}
}

// pause is how long a server is left alone after n failures in a row, half of
// it by chance so that hosts don't come back together.
func pause(n int) time.Duration {
	full := min(firstPause<<min(n, 10), longestPause)
	return full/2 + rand.N(full/2)
}
