package lockcheck

import (
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/servertest"
)

// goal is the hand-over that exclusive aims at where waiters are woken up, plus
// what the disk takes.
const goal = 2 * time.Millisecond

// BenchmarkHandOver is the time from the call of release in one process to the
// entry of another's waiter, or of another goroutine on memory: the median, its
// ratio to the goal, and its ratio to the time that an attempt takes.
func BenchmarkHandOver(b *testing.B) {
	for _, test := range []struct {
		name  string
		start func(*testing.B) cache.StoreConfig
	}{
		{"memory", func(*testing.B) cache.StoreConfig { return cache.StoreConfig{Driver: "memory"} }},
		{"file", func(b *testing.B) cache.StoreConfig {
			return cache.StoreConfig{Driver: "file", Options: map[string]any{"path": b.TempDir()}}
		}},
		{"redis", func(b *testing.B) cache.StoreConfig {
			return redisStore(servertest.StartRedis(b, servertest.RedisOptions{}))
		}},
		{"redis-durable", func(b *testing.B) cache.StoreConfig {
			return redisStore(servertest.StartRedis(b, servertest.RedisOptions{Config: []string{"appendonly yes", "appendfsync always"}}))
		}},
		{"database", func(b *testing.B) cache.StoreConfig {
			return databaseStore(servertest.StartPostgres(b, servertest.PostgresOptions{}))
		}},
		{"database-durable", func(b *testing.B) cache.StoreConfig {
			return databaseStore(servertest.StartPostgres(b, servertest.PostgresOptions{Settings: []string{"fsync = on"}}))
		}},
		{"memcached", func(b *testing.B) cache.StoreConfig {
			server := servertest.StartMemcached(b, servertest.MemcachedOptions{})
			return cache.StoreConfig{Driver: "memcached", Options: map[string]any{"servers": []string{server.Addr()}}}
		}},
	} {
		b.Run(test.name, func(b *testing.B) { handOver(b, test.name == "memory", test.start(b)) })
	}
}

func redisStore(server *servertest.Redis) cache.StoreConfig {
	return cache.StoreConfig{Driver: "redis", Options: map[string]any{"addr": server.Addr()}}
}

func databaseStore(server *servertest.Postgres) cache.StoreConfig {
	return cache.StoreConfig{Driver: "database", Options: map[string]any{"dsn": server.URL("")}}
}

// handOver has two participants take turns: whoever leaves stays away for longer
// than a hand-over takes, and comes back while the other one is still inside.
func handOver(b *testing.B, oneProcess bool, store cache.StoreConfig) {
	load := Load{
		Goroutines: 1, Keys: []string{"wanted"}, Lease: 30 * time.Second,
		Hold: 35 * time.Millisecond, Pause: 25 * time.Millisecond, Steady: true,
	}
	r := Run{Worker: workers(b, store, ""), Processes: 2, Load: load, Acquisitions: b.N + 10, Limit: time.Hour}
	if oneProcess {
		r.Processes, r.Load.Goroutines = 1, 2
	}
	result, err := r.Do(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if found := Check(result.History, Rules{}); len(found) > 0 {
		b.Fatal(found[0])
	}
	s := result.History.Summary()
	between := s.Across
	if oneProcess {
		between = s.HandOver
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(between.Median.Microseconds()), "median-µs")
	b.ReportMetric(float64(between.P99.Microseconds()), "p99-µs")
	b.ReportMetric(float64(between.Median)/float64(goal), "of-goal")
	b.ReportMetric(float64(between.Median)/float64(s.Entering.Median), "of-attempt")
	b.ReportMetric(float64(between.N), "hand-overs")
}
