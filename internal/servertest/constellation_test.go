package servertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

func TestSentinelsPromoteAReplicaWhenTheMasterDies(t *testing.T) {
	t.Parallel()
	set := StartSentinel(t, SentinelOptions{Replicas: 2, Password: "p w"})
	master := set.Master(t)
	if master != set.Nodes[0] {
		t.Fatal("the first node isn't the master")
	}
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: SentinelName, SentinelAddrs: set.Addrs(), Password: "p w", MaxRetries: -1,
	})
	defer client.Close()
	ctx := within(t, time.Minute)
	if err := client.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Do(ctx, "wait", 2, 0).Err(); err != nil {
		t.Fatal(err)
	}

	master.Kill(t)
	if err := until(ctx, func() error { return client.Set(ctx, "other", "v", 0).Err() }); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Get(ctx, "k").Result(); got != "v" || err != nil {
		t.Fatalf("the new master has %q, %v", got, err)
	}
	if got := set.AwaitFailover(t, master); got != set.Master(t) || got.PID() == 0 {
		t.Fatalf("the new master is %s", got.Addr())
	}
}

func TestClusterSpreadsKeysAndSurvivesAMaster(t *testing.T) {
	t.Parallel()
	cluster := StartCluster(t, ClusterOptions{Replicas: 1, Password: "p w"})
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addrs(), Password: "p w",
		ClusterStateReloadInterval: 100 * time.Millisecond, // by itself a refused connection reloads nothing
	})
	defer client.Close()
	ctx := within(t, time.Minute)
	for i := range 60 {
		if err := client.Set(ctx, fmt.Sprint("k", i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range cluster.Nodes[:3] {
		direct := node.client()
		keys, err := direct.DBSize(ctx).Result()
		replicas := direct.Do(ctx, "wait", 1, 0).Err()
		direct.Close()
		if keys == 0 || err != nil || replicas != nil {
			t.Fatalf("a master holds %d keys, %v, %v", keys, err, replicas)
		}
	}

	cluster.Nodes[0].Kill(t)
	for i := range 60 {
		if err := until(ctx, func() error { return holds(ctx, client, fmt.Sprint("k", i), i) }); err != nil {
			t.Fatal(err)
		}
	}
}

func holds(ctx context.Context, client *redis.ClusterClient, key string, want int) error {
	got, err := client.Get(ctx, key).Int()
	if err == nil && got != want {
		err = fmt.Errorf("%s is %d", key, got)
	}
	return err
}

func TestClusterAnnouncesItsProxies(t *testing.T) {
	t.Parallel()
	cluster := StartCluster(t, ClusterOptions{Proxied: true})
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: cluster.Addrs()[:1], MaxRetries: -1, MaxRedirects: -1,
	})
	defer client.Close()
	ctx := within(t, time.Minute)
	seen := make(map[string]bool)
	for i := range 60 {
		key := fmt.Sprint("k", i)
		master, err := client.MasterForKey(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		seen[master.Options().Addr] = true
	}
	for _, addr := range cluster.Addrs() {
		if !seen[addr] {
			t.Fatalf("clients are sent to %v, the proxies are %v", seen, cluster.Addrs())
		}
	}
	master, _ := client.MasterForKey(ctx, "counter")
	proxy := cluster.Proxies[slices.Index(cluster.Addrs(), master.Options().Addr)]
	trap := proxy.CutReplies("counter", 0)
	if err := client.Incr(ctx, "counter").Err(); err == nil {
		t.Fatal("the cut reply arrived")
	}
	if trap.Count() == 0 {
		t.Fatal("the command went past its proxy")
	}
}

func TestPgBouncerLendsAConnectionForATransactionOnly(t *testing.T) {
	t.Parallel()
	pooler := StartPgBouncer(t, StartPostgres(t, PostgresOptions{}), PgBouncerOptions{
		Settings: []string{"default_pool_size = 1", "query_wait_timeout = 1"},
	})
	ctx := within(t, time.Minute)
	first, second := pooled(t, pooler.URL("")), pooled(t, pooler.URL("postgres"))
	for _, conn := range []*pgx.Conn{first, second, first} {
		if _, err := conn.Exec(ctx, "select 1"); err != nil {
			t.Fatalf("one at a time: %v", err)
		}
	}
	if _, err := first.Exec(ctx, "begin"); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Exec(ctx, "select 1"); err == nil {
		t.Fatal("a second connection came from a pool of one")
	}
	pooler.Restart(t)
	if _, err := pooled(t, pooler.URL("")).Exec(ctx, "select 1"); err != nil {
		t.Fatalf("after a restart: %v", err)
	}
}

func pooled(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil && !errors.Is(err, context.Canceled) {
			t.Log(err)
		}
	})
	return conn
}
