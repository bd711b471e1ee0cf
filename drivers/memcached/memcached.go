// Package memcached is the driver of stores on Memcached: one server, or
// several among which keys are spread by rendezvous hashing.
//
// An item starts with a header of the driver's: the full key, the deadline in
// milliseconds and a checksum. The header decides whether an entry lives; the
// server's own expiry is a generous bound behind it. What Memcached has no
// command for is a read and a compare-and-swap. Memcached may lose any item at
// any time, locks included; docs/memcached.md says when.
package memcached

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

const version = "0.1.0"

// Driver is the memcached driver.
var Driver = sdk.Define("memcached", version, open)

const longestKey = 1024

// A store is one opened store.
type store struct {
	ring
	turns     turns
	dedicated bool
}

// open opens a store. It connects to nothing: the first call does.
func open(_ context.Context, o options) (*store, error) {
	t, err := o.understand()
	if err != nil {
		return nil, err
	}
	s := &store{dedicated: o.Dedicated}
	for _, at := range t.addresses {
		s.ring = append(s.ring, newNode(newServer(t.settings, at)))
	}
	return s, nil
}

// Traits are the store's. A redlock release deletes without comparing, as the
// strategy is described for Memcached, although CompareDelete compares.
func (s *store) Traits() sdk.Traits {
	traits := sdk.Traits{
		Dispatch:     sdk.DispatchTogether,
		Granularity:  time.Millisecond,
		MaxKey:       longestKey,
		LockStrategy: sdk.StrategyRedlock,
		LockScope:    sdk.ScopeCluster,
		Class:        sdk.ClassOverlap,
		Space:        s.space(),
	}
	if !s.dedicated {
		traits.Withdrawn = []sdk.Capability{sdk.CanClear}
	}
	return traits
}

// Close ends what is still under way for callers that have left.
func (s *store) Close() error {
	for _, n := range s.ring {
		n.server.close()
	}
	return nil
}
