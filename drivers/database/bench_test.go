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

// A duel is one operation, by the store in process and by a pgx pool that runs
// the same query directly.
type duel struct {
	name        string
	store, pool func(context.Context, string) error
}

// duels opens both sides on one server and fills the table.
func duels(t testing.TB) []duel {
	t.Helper()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	store, err := database.Driver.Open(t.Context(), map[string]any{"dsn": server.SocketURL("")})
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgxpool.ParseConfig(server.SocketURL(""))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 10 // as the store; pgx would take 4, and be slower
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pool.Close()
		if err := store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	value := make([]byte, 100)
	for i := range benchKeys {
		if err := store.Set(t.Context(), benchKey(i), value, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pool.Exec(t.Context(), `VACUUM ANALYZE cache`); err != nil {
		t.Fatal(err)
	}
	return []duel{
		{
			"Get",
			func(ctx context.Context, key string) error { _, _, err := store.Get(ctx, key); return err },
			func(ctx context.Context, key string) error {
				var v []byte
				return pool.QueryRow(ctx, plainGet, key).Scan(&v)
			},
		},
		{
			"Set",
			func(ctx context.Context, key string) error { return store.Set(ctx, key, value, time.Hour) },
			func(ctx context.Context, key string) error {
				_, err := pool.Exec(ctx, plainSet, key, value, time.Hour)
				return err
			},
		},
	}
}

// fight has both sides run n operations from so many callers, in short rounds
// by turns, and returns the median of the store's throughput over the pool's.
func (d duel) fight(t testing.TB, callers, n int) (ratio float64, perSecond [2]float64) {
	const rounds = 60
	ratios := make([]float64, rounds)
	per := max(n/rounds, callers)
	var spent [2]time.Duration
	for round := range rounds {
		var now [2]time.Duration
		for i := range 2 {
			side := (i + round) % 2
			now[side] = spend(t, []func(context.Context, string) error{d.store, d.pool}[side], callers, per)
			spent[side] += now[side]
		}
		ratios[round] = now[1].Seconds() / now[0].Seconds()
	}
	slices.Sort(ratios)
	for side := range perSecond {
		perSecond[side] = float64(per*rounds) / spent[side].Seconds()
	}
	return ratios[rounds/2], perSecond
}

// BenchmarkStore compares the store, in process, with a pgx pool. The metric
// ratio is the store's throughput over the pool's.
func BenchmarkStore(b *testing.B) {
	for _, d := range duels(b) {
		for _, callers := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", d.name, callers), func(b *testing.B) {
				ratio, perSecond := d.fight(b, callers, b.N)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(perSecond[0], "store/s")
				b.ReportMetric(perSecond[1], "pool/s")
				b.ReportMetric(ratio, "ratio")
			})
		}
	}
}

func benchKey(i int) string { return fmt.Sprintf("bench:%06d", i%benchKeys) }

// spend runs n operations from so many callers, and returns how long it took.
func spend(b testing.TB, op func(context.Context, string) error, callers, n int) time.Duration {
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
