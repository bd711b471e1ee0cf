package redis_test

import (
	"testing"

	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk/drivertest"
)

func TestConformanceOnOneServer(t *testing.T) {
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	conforms(t, map[string]any{"addr": server.Addr(), "dedicated": true})
}

func TestConformanceUnderSentinel(t *testing.T) {
	set := servertest.StartSentinel(t, servertest.SentinelOptions{})
	conforms(t, map[string]any{
		"sentinel":  map[string]any{"master": servertest.SentinelName, "addrs": set.Addrs()},
		"dedicated": true,
	})
}

func TestConformanceOnACluster(t *testing.T) {
	cluster := servertest.StartCluster(t, servertest.ClusterOptions{})
	conforms(t, map[string]any{"cluster": map[string]any{"addrs": cluster.Addrs()}, "dedicated": true})
}

// conforms runs the suite: all cases share the servers, one after the other.
func conforms(t *testing.T, options map[string]any) {
	drivertest.Run(t, redis.Driver, func(testing.TB) map[string]any { return options })
}
