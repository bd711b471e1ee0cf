// Package redis is the driver of stores on Redis: one server, a master that
// Sentinels watch, or a Redis Cluster; Redis 6.2 and later, and Valkey.
//
// Entries are strings as Redis has them, readable with any other client.
// Concurrent calls go out together as pipelines. Leases are hashes beside the
// entries, under names that no entry can have. docs/redis.md says what a
// failover can lose, and how to run a server that holds locks.
package redis

import (
	"context"
	"sync"

	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

const version = "0.1.0"

// Driver is the redis driver.
var Driver = sdk.Define("redis", version, open)

const (
	longestKey = 1024
	// maxValue is what a message between host and driver holds; Redis would take
	// 512 MiB.
	maxValue = 64<<20 - 64<<10
)

// A store is one opened store.
type store struct {
	target
	route   route
	nowhere *server // in errors of calls that found no server
	large   largeKeys
	hub     *hub
}

// quiet keeps go-redis from logging: it would repeat what servers say, which may
// be a secret, and errors say it all.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

var quieten = sync.OnceFunc(func() { redis.SetLogger(quiet{}) })

func open(_ context.Context, o options) (*store, error) {
	t, err := o.understand()
	if err != nil {
		return nil, err
	}
	quieten()
	s := &store{target: t, route: t.route(), nowhere: &server{settings: t.settings(), name: t.space()}}
	s.hub = newHub(s.route.subscribe)
	return s, nil
}

// Traits are the store's.
func (s *store) Traits() sdk.Traits {
	return sdk.Traits{
		Dispatch:        sdk.DispatchTogether,
		MaxKey:          longestKey,
		MaxValue:        maxValue,
		LockStrategy:    sdk.StrategyRedlock,
		LockScope:       sdk.ScopeCluster,
		Class:           sdk.ClassOverlap,
		ReleaseCompares: true,
		Space:           s.space(),
	}
}

// Close gives the connections back.
func (s *store) Close() error {
	s.hub.close()
	return s.route.close()
}
