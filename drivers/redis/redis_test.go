package redis_test

import (
	"testing"

	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk/drivertest"
)

func TestConformanceOnOneServer(t *testing.T) {
	alone(t)
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	conforms(t, map[string]any{"addr": server.Addr(), "dedicated": true})
}

func TestConformanceUnderSentinel(t *testing.T) {
	alone(t)
	set := servertest.StartSentinel(t, servertest.SentinelOptions{})
	conforms(t, map[string]any{
		"sentinel":  map[string]any{"master": servertest.SentinelName, "addrs": set.Addrs()},
		"dedicated": true,
	})
}

func TestConformanceOnACluster(t *testing.T) {
	alone(t)
	cluster := servertest.StartCluster(t, servertest.ClusterOptions{})
	conforms(t, map[string]any{"cluster": map[string]any{"addrs": cluster.Addrs()}, "dedicated": true})
}

// alone keeps the driver processes of the suite from starting servers of their
// own, and lets the test run beside others.
func alone(t *testing.T) {
	drivertest.Child(redis.Driver)
	t.Parallel()
}

// conforms runs the suite: all cases share the servers, one after the other.
func conforms(t *testing.T, options map[string]any) {
	drivertest.Run(t, redis.Driver, func(testing.TB) map[string]any { return options })
}
