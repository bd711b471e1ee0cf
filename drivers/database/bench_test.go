package database_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/drivers/database"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The queries of the store, as somebody would write them who uses the pool
// directly.
const (
	plainGet = `SELECT value FROM cache WHERE key = $1 AND (expiry IS NULL OR expiry > clock_timestamp())`
	plainSet = `INSERT INTO cache (key, value, expiry) VALUES ($1, $2, clock_timestamp() + $3::interval)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, expiry = excluded.expiry`
)

const benchKeys = 10_000

// BenchmarkStore compares the store, in process, with a pgx pool that runs the
// same queries directly, in alternating rounds of one run. The metric ratio is
// the store's throughput over the pool's, latency its median over the pool's.
func BenchmarkStore(b *testing.B) {
	server := servertest.StartPostgres(b, servertest.PostgresOptions{})
	store, err := database.Driver.Open(b.Context(), map[string]any{"dsn": server.SocketURL("")})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close(context.Background())
	value := make([]byte, 100)
	for i := range benchKeys {
		if err := store.Set(b.Context(), benchKey(i), value, time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	if err := store.Ping(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, most := range []int32{4, 10} {
		config, err := pgxpool.ParseConfig(server.SocketURL(""))
		if err != nil {
			b.Fatal(err)
		}
		config.MaxConns = most
		pool, err := pgxpool.NewWithConfig(b.Context(), config)
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		ops := map[string][2]func(context.Context, string) error{
			"Get": {
				func(ctx context.Context, key string) error { _, _, err := store.Get(ctx, key); return err },
				func(ctx context.Context, key string) error {
					var v []byte
					return pool.QueryRow(ctx, plainGet, key).Scan(&v)
				},
			},
			"Set": {
				func(ctx context.Context, key string) error { return store.Set(ctx, key, value, time.Hour) },
				func(ctx context.Context, key string) error {
					_, err := pool.Exec(ctx, plainSet, key, value, time.Hour)
					return err
				},
			},
		}
		for _, name := range []string{"Get", "Set"} {
			for _, callers := range []int{1, 4, 64} {
				b.Run(fmt.Sprintf("%s/pool=%d/callers=%d", name, most, callers), func(b *testing.B) {
					const rounds = 60
					ratios := make([]float64, rounds)
					per := max(b.N/rounds, callers)
					var spent [2]time.Duration
					for round := range rounds {
						var now [2]time.Duration
						for i := range 2 {
							which := (i + round) % 2
							now[which] = spend(b, ops[name][which], callers, per)
							spent[which] += now[which]
						}
						ratios[round] = now[1].Seconds() / now[0].Seconds()
					}
					slices.Sort(ratios)
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(float64(per*rounds)/spent[0].Seconds(), "store/s")
					b.ReportMetric(float64(per*rounds)/spent[1].Seconds(), "pool/s")
					b.ReportMetric(ratios[rounds/2], "ratio")
				})
			}
		}
	}
}

func benchKey(i int) string { return fmt.Sprintf("bench:%06d", i%benchKeys) }

// spend runs n operations from so many callers, and returns how long it took.
func spend(b *testing.B, op func(context.Context, string) error, callers, n int) time.Duration {
	var next atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for range callers {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
			defer cancel()
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				if err := op(ctx, benchKey(i*7919)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(start)
}
