//go:build soak

package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func TestSoakAnswersGoToWhoAsked(t *testing.T) { answersGoToWhoAsked(t, 2*time.Minute) }

func TestSoakClearBesideAMillionKeysOfOthers(t *testing.T) {
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"enable-debug-command yes"}})
	clearBeside(t, server, 1_000_000, 100_000)
}

func TestSoakRestartsUnderLoad(t *testing.T) {
	server := servertest.StartRedis(t, servertest.RedisOptions{Config: []string{"appendonly yes", "appendfsync always"}})
	store := on(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var c tally
	stop := load(ctx, 64, func(ctx context.Context, _ int) { c.count(ctx, store, "n") })
	for range 100 {
		moment(t, &c)
		server.Kill(t)
		server.Start(t)
	}
	moment(t, &c)
	stop()
	sum, err := store.Increment(ctx, "n", 0, sdk.NoExpiry)
	if err != nil {
		t.Fatal(err)
	}
	c.holds(t, sum)
}

func TestSoakFailoversUnderSentinel(t *testing.T) {
	for range 10 {
		set := servertest.StartSentinel(t, servertest.SentinelOptions{})
		store := opened(t, map[string]any{"sentinel": map[string]any{"master": servertest.SentinelName, "addrs": set.Addrs()}})
		failover(t, store, set.Nodes[:1], func() {
			set.Nodes[0].Kill(t)
			set.AwaitFailover(t, set.Nodes[0])
		})
	}
}

func TestSoakLossesOfClusterMasters(t *testing.T) {
	for i := range 10 {
		cluster := servertest.StartCluster(t, servertest.ClusterOptions{Replicas: 1})
		store := opened(t, map[string]any{"cluster": map[string]any{"addrs": cluster.Addrs()}})
		failover(t, store, cluster.Nodes[:3], func() { cluster.Nodes[i%3].Kill(t) })
	}
}

func TestSoakSlotsMove(t *testing.T) {
	slotMoves(t, 60)
}
