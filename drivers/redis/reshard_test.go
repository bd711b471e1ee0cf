package redis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	goredis "github.com/redis/go-redis/v9"
)

func TestNoCallFailsWhileASlotMoves(t *testing.T) {
	t.Parallel()
	slotMoves(t, 4)
}

func slotMoves(t *testing.T, times int) {
	cluster := servertest.StartCluster(t, servertest.ClusterOptions{})
	store := opened(t, map[string]any{"cluster": map[string]any{"addrs": cluster.Addrs()}})
	nodes := make([]*goredis.Client, len(cluster.Nodes))
	for i, node := range cluster.Nodes {
		nodes[i] = observer(t, node)
	}
	ctx := within(t, 10*patience)
	const keys = 10
	var counts [keys]tally
	stop := load(ctx, keys, func(ctx context.Context, i int) { counts[i].count(ctx, store, fmt.Sprintf("{moving}%d", i)) })
	stopLeases := load(ctx, 2, func(ctx context.Context, i int) { leases(ctx, t, store, fmt.Sprintf("{moving}lock%d", i)) })
	stopBatches := load(ctx, 1, func(ctx context.Context, _ int) { batches(ctx, t, store) })
	slot := int(nodes[0].ClusterKeySlot(ctx, "{moving}").Val())
	at := slot * 3 / 16384
	for range times {
		moment(t, &counts[0])
		to := (at + 1) % 3
		move(t, nodes, cluster.Nodes, slot, at, to)
		at = to
	}
	moment(t, &counts[0])
	stop()
	stopLeases()
	stopBatches()
	asked := 0
	for _, node := range nodes {
		asked += strings.Count(node.Info(ctx, "commandstats").Val(), "cmdstat_asking:")
	}
	if asked < 2 {
		t.Errorf("%d nodes were asked while they took the slot over; the calls did not meet its keys on the way", asked)
	}
	for i := range counts {
		sum, err := store.Increment(ctx, fmt.Sprintf("{moving}%d", i), 0, sdk.NoExpiry)
		if err != nil {
			t.Fatal(err)
		}
		counts[i].holds(t, sum)
		if n := counts[i].maybe.Load() + counts[i].not.Load(); n > 0 {
			t.Errorf("%d increments failed while the slot moved", n)
		}
	}
}

// move moves a slot, key by key, so that for a while a part of its keys is here
// and a part there.
func move(t *testing.T, nodes []*goredis.Client, servers []*servertest.Redis, slot, from, to int) {
	t.Helper()
	id := func(i int) string { return nodes[i].ClusterMyID(t.Context()).Val() }
	command(t, nodes[to], "cluster", "setslot", slot, "importing", id(from))
	command(t, nodes[from], "cluster", "setslot", slot, "migrating", id(to))
	for {
		keys := nodes[from].ClusterGetKeysInSlot(t.Context(), slot, 1).Val()
		if len(keys) == 0 {
			break
		}
		command(t, nodes[from], "migrate", "127.0.0.1", servers[to].Port(), keys[0], 0, 5000)
		time.Sleep(2 * time.Millisecond) // so that calls meet the slot in this state
	}
	for _, i := range []int{to, from, 3 - to - from} {
		command(t, nodes[i], "cluster", "setslot", slot, "node", id(to))
	}
}

// leases takes and releases a lock again and again: its fence rises all the
// time.
func leases(ctx context.Context, t *testing.T, store *sdk.Instance, key string) {
	var last uint64
	r := sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: key, Owner: "o", Lease: time.Minute}
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		g, err := store.AcquireLease(call, r)
		if err != nil || !g.OK || g.Fence <= last {
			t.Errorf("AcquireLease after fence %d = %+v, %v", last, g, err)
		}
		last = g.Fence
		if ok, err := store.ReleaseLease(call, r); !ok || err != nil {
			t.Errorf("ReleaseLease = %t, %v", ok, err)
		}
		cancel()
	}
}

// batches writes, reads and removes keys of all slots.
func batches(ctx context.Context, t *testing.T, store *sdk.Instance) {
	var entries []sdk.Entry
	var keys []string
	for i := range 30 {
		keys = append(keys, fmt.Sprint("batch", i), fmt.Sprintf("{moving}batch%d", i))
	}
	for _, key := range keys {
		entries = append(entries, sdk.Entry{Key: key, Value: []byte(key)})
	}
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		if err := store.SetMany(call, entries); err != nil {
			t.Errorf("SetMany: %v", err)
		}
		found, err := store.GetMany(call, keys)
		if err != nil || len(found) != len(keys) {
			t.Errorf("GetMany: %d answers, %v", len(found), err)
		}
		for i, f := range found {
			if f.Err != nil || string(f.Value) != keys[i] {
				t.Errorf("GetMany finds %q under %s: %v", f.Value, keys[i], f.Err)
			}
		}
		if n, err := store.DeleteMany(call, keys); n != len(keys) || err != nil {
			t.Errorf("DeleteMany of %d keys = %d, %v", len(keys), n, err)
		}
		cancel()
	}
}
