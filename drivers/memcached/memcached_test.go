package memcached_test

import (
	"testing"

	"github.com/cachewright/cachewright/drivers/memcached"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk/drivertest"
)

func TestDriver(t *testing.T) {
	t.Parallel()
	addr := servertest.StartMemcached(t, servertest.MemcachedOptions{}).Addr()
	drivertest.Run(t, memcached.Driver, func(testing.TB) map[string]any {
		return map[string]any{"servers": addr}
	})
}

func TestDriverOnThreeServers(t *testing.T) {
	t.Parallel()
	var sockets []any
	for range 3 {
		sockets = append(sockets, servertest.StartMemcached(t, servertest.MemcachedOptions{Unix: true}).Socket())
	}
	drivertest.Run(t, memcached.Driver, func(testing.TB) map[string]any {
		return map[string]any{"servers": sockets}
	})
}
