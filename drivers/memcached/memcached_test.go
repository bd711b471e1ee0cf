package memcached_test

import (
	"testing"

	"github.com/cachewright/cachewright/drivers/memcached"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk/drivertest"
)

func TestDriver(t *testing.T) {
	for _, constellation := range []struct {
		name    string
		servers int
	}{{"one server", 1}, {"three servers", 3}} {
		t.Run(constellation.name, func(t *testing.T) {
			t.Parallel()
			servers := make([]any, constellation.servers)
			for i := range servers {
				servers[i] = servertest.StartMemcached(t, servertest.MemcachedOptions{}).Addr()
			}
			drivertest.Run(t, memcached.Driver, func(testing.TB) map[string]any {
				return map[string]any{"servers": servers}
			})
		})
	}
}
