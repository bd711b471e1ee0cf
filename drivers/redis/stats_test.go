package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func report(t *testing.T, store *sdk.Instance) map[string]sdk.Stat {
	t.Helper()
	stats, err := store.Stats(within(t, patience))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]sdk.Stat)
	for _, stat := range stats {
		found[stat.Name] = stat
	}
	return found
}

func TestStatsWarnOfWhatEndangersLocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		config   []string
		warnings map[string]string
	}{
		{"nothing", []string{"appendonly yes"}, nil},
		{"no limit, so that nothing is evicted", []string{"appendonly yes", "maxmemory-policy allkeys-lru"}, nil},
		{"a limit without eviction", []string{"appendonly yes", "maxmemory 100mb", "maxmemory-policy noeviction"}, nil},
		{"eviction", []string{"appendonly yes", "maxmemory 100mb", "maxmemory-policy allkeys-lru"}, map[string]string{"memory.policy": "evict locks"}},
		{"eviction of what expires", []string{"appendonly yes", "maxmemory 100mb", "maxmemory-policy volatile-ttl"}, map[string]string{"memory.policy": "evict locks"}},
		{"nothing kept", nil, map[string]string{"persistence": "appendonly"}},
		{"a replica", []string{"appendonly yes", "replicaof 127.0.0.1 1"}, map[string]string{"server.role": "replica"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := report(t, on(t, servertest.StartRedis(t, servertest.RedisOptions{Config: c.config})))
			for name, stat := range found {
				want := c.warnings[name]
				if (stat.Warning == "") != (want == "") || !strings.Contains(stat.Warning, want) {
					t.Errorf("%s is %q with the warning %q; want one about %q", name, stat.Value, stat.Warning, want)
				}
			}
			for _, name := range []string{"server.version", "server.role", "server.replicas", "memory.used", "memory.max", "memory.policy", "persistence", "latency", "clock.difference"} {
				if found[name].Value == "" {
					t.Errorf("there is no %s", name)
				}
			}
		})
	}
}

func TestStatsOfAClusterNameItsNodes(t *testing.T) {
	t.Parallel()
	cluster := servertest.StartCluster(t, servertest.ClusterOptions{Config: []string{"appendonly yes"}})
	found := report(t, opened(t, map[string]any{"cluster": map[string]any{"addrs": cluster.Addrs()[:1]}}))
	if found["cluster.masters"].Value != "3" {
		t.Errorf("%v masters", found["cluster.masters"])
	}
	for _, node := range cluster.Nodes {
		if found["node "+node.Addr()+" server.role"].Value != "master" {
			t.Errorf("nothing of node %s in %v", node.Addr(), found)
		}
	}
}

// What docs/redis.md grants a user is enough for everything.
func TestTheDocumentedPermissionsSuffice(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	rule := documentedACL(t)
	command(t, observer(t, server), append([]any{"acl", "setuser", "app", "on", ">p"}, rule...)...)
	store := opened(t, map[string]any{"addr": server.Addr(), "username": "app", "password": "p"})
	ctx := within(t, patience)
	lease := request(sdk.StrategyExclusive, "me", time.Second)
	lease.Key = "app:another job"
	for name, call := range map[string]func(key string) error{
		"Get":           func(key string) error { _, _, err := store.Get(ctx, key); return err },
		"Set":           func(key string) error { return store.Set(ctx, key, nil, time.Minute) },
		"Add":           func(key string) error { _, err := store.Add(ctx, key, nil, time.Minute); return err },
		"Replace":       func(key string) error { _, err := store.Replace(ctx, key, nil, time.Minute); return err },
		"Pull":          func(key string) error { _, _, err := store.Pull(ctx, key); return err },
		"Delete":        func(key string) error { _, err := store.Delete(ctx, key); return err },
		"CompareDelete": func(key string) error { _, err := store.CompareDelete(ctx, key, nil); return err },
		"Increment":     func(key string) error { _, err := store.Increment(ctx, key+"n", 1, sdk.NoExpiry); return err },
		"a counter":     func(key string) error { _, err := store.Increment(ctx, key+"n", 1, time.Minute); return err },
		"TTL":           func(key string) error { _, _, err := store.TTL(ctx, key); return err },
		"Touch":         func(key string) error { _, err := store.Touch(ctx, key, time.Minute); return err },
		"Persist":       func(key string) error { _, err := store.Touch(ctx, key, sdk.NoExpiry); return err },
		"GetMany":       func(key string) error { f, err := store.GetMany(ctx, []string{key}); return firstOf(f, err) },
		"SetMany":       func(key string) error { return store.SetMany(ctx, []sdk.Entry{{Key: key}}) },
		"DeleteMany":    func(key string) error { _, err := store.DeleteMany(ctx, []string{key}); return err },
		"Keys":          func(key string) error { _, _, err := store.Keys(ctx, key, nil, 10); return err },
		"Clear":         func(key string) error { _, _, err := store.Clear(ctx, key, nil); return err },
		"Ping":          func(string) error { return store.Ping(ctx) },
		"Stats":         func(string) error { _, err := store.Stats(ctx); return err },
		"AcquireLease":  func(string) error { _, err := store.AcquireLease(ctx, lease); return err },
		"RenewLease":    func(string) error { _, err := store.RenewLease(ctx, lease); return err },
		"WaitLease":     func(string) error { return store.WaitLease(ctx, lease) },
		"ReleaseLease":  func(string) error { _, err := store.ReleaseLease(ctx, lease); return err },
	} {
		if err := call("app:k"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if found := report(t, store); found["server.version"].Value == "" || found["clock.difference"].Value == "" {
		t.Errorf("Stats of that user: %v", found)
	}
	handOver(t, store, store, 1)
	if err := store.Set(context.WithoutCancel(ctx), "other:k", nil, sdk.NoExpiry); err == nil || !strings.Contains(err.Error(), "NOPERM") {
		t.Errorf("a key of others: %v", err)
	}
}

func firstOf(found []sdk.Lookup, err error) error {
	if err == nil && len(found) > 0 {
		return found[0].Err
	}
	return err
}
