package redis_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	goredis "github.com/redis/go-redis/v9"
)

// The benchmarks compare a store with a plain go-redis client at its default
// settings, on the same unix socket and in turn, round by round: only the
// ratios mean anything on another machine.
//
//	go test -bench . -benchtime 5s ./drivers/redis

const (
	// leastThroughput is what 64 callers must gain.
	leastThroughput = 1.5
	// mostLatency is what one caller may lose.
	mostLatency = 1.15
	// turn is how long each of the two runs in a round.
	turn = 100 * time.Millisecond
)

func BenchmarkGet100B(b *testing.B) {
	c := newContest(b)
	c.run(b,
		func(ctx context.Context) error { _, _, err := c.store.Get(ctx, "k"); return err },
		func(ctx context.Context) error { return c.plain.Get(ctx, "k").Err() })
}

func BenchmarkSet100B(b *testing.B) {
	c := newContest(b)
	value := make([]byte, 100)
	c.run(b,
		func(ctx context.Context) error { return c.store.Set(ctx, "k", value, time.Hour) },
		func(ctx context.Context) error { return c.plain.Set(ctx, "k", value, time.Hour).Err() })
}

func BenchmarkGet4KiB(b *testing.B) {
	c := newContest(b)
	if err := c.store.Set(b.Context(), "k", make([]byte, 4<<10), sdk.NoExpiry); err != nil {
		b.Fatal(err)
	}
	c.run(b,
		func(ctx context.Context) error { _, _, err := c.store.Get(ctx, "k"); return err },
		func(ctx context.Context) error { return c.plain.Get(ctx, "k").Err() })
}

func BenchmarkIncrement(b *testing.B) {
	c := newContest(b)
	c.run(b,
		func(ctx context.Context) error { _, err := c.store.Increment(ctx, "n", 1, sdk.NoExpiry); return err },
		func(ctx context.Context) error { return c.plain.IncrBy(ctx, "n", 1).Err() })
}

// A contest is a store and a plain client on one server.
type contest struct {
	store *sdk.Instance
	plain *goredis.Client
}

func newContest(b *testing.B) contest {
	server := servertest.StartRedis(b, servertest.RedisOptions{})
	store, err := redis.Driver.Open(b.Context(), map[string]any{"addr": server.Socket()})
	if err != nil {
		b.Fatal(err)
	}
	plain := goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Socket()})
	b.Cleanup(func() {
		store.Close(context.Background())
		plain.Close()
	})
	if err := store.Set(b.Context(), "k", make([]byte, 100), sdk.NoExpiry); err != nil {
		b.Fatal(err)
	}
	return contest{store, plain}
}

func (c contest) run(b *testing.B, ours, plain func(context.Context) error) {
	for _, of := range []struct {
		name    string
		callers int
	}{{"by1", 1}, {"by8", 8}, {"by64", 64}} {
		b.Run(of.name, func(b *testing.B) {
			var rates, medians [2][]float64
			for b.Loop() {
				for i, call := range []func(context.Context) error{ours, plain} {
					rate, median := measure(b, of.callers, call)
					rates[i] = append(rates[i], rate)
					medians[i] = append(medians[i], median)
				}
			}
			throughput := middle(rates[0]) / middle(rates[1])
			latency := middle(medians[0]) / middle(medians[1])
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(middle(rates[0]), "op/s")
			b.ReportMetric(middle(medians[0]), "p50-µs")
			b.ReportMetric(throughput, "x-throughput")
			b.ReportMetric(latency, "x-p50")
			if of.callers == 64 && throughput < leastThroughput {
				b.Errorf("%.2f times the throughput of a plain client; want at least %.2f", throughput, leastThroughput)
			}
			if of.callers == 1 && latency > mostLatency {
				b.Errorf("%.2f times the median latency of a plain client; want at most %.2f", latency, mostLatency)
			}
		})
	}
}

// measure lets callers call one after the other for a while, and returns calls
// a second and the median latency in µs.
func measure(b *testing.B, callers int, call func(context.Context) error) (rate, median float64) {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var latencies []time.Duration
	var working sync.WaitGroup
	start := time.Now()
	for range callers {
		working.Go(func() {
			var own []time.Duration
			for last := time.Now(); last.Sub(start) < turn; {
				if err := call(ctx); err != nil {
					b.Error(err)
					return
				}
				now := time.Now()
				own = append(own, now.Sub(last))
				last = now
			}
			mu.Lock()
			defer mu.Unlock()
			latencies = append(latencies, own...)
		})
	}
	working.Wait()
	rate = float64(len(latencies)) / time.Since(start).Seconds()
	slices.Sort(latencies)
	return rate, float64(latencies[len(latencies)/2].Nanoseconds()) / 1e3
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkHandOver is how long a waiter of one store takes to enter a lock
// that another store releases.
func BenchmarkHandOver(b *testing.B) {
	server := servertest.StartRedis(b, servertest.RedisOptions{})
	holder, waiter := on(b, server), on(b, server)
	var took []time.Duration
	for b.Loop() {
		took = append(took, handOver(b, holder, waiter, 1)...)
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkGetMany100 asks for 100 keys at once, and one by one.
func BenchmarkGetMany100(b *testing.B) {
	c := newContest(b)
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprint("k", i)
		if err := c.store.Set(b.Context(), keys[i], make([]byte, 100), sdk.NoExpiry); err != nil {
			b.Fatal(err)
		}
	}
	var rates [2][]float64
	for b.Loop() {
		for i, call := range []func(context.Context) error{
			func(ctx context.Context) error { _, err := c.store.GetMany(ctx, keys); return err },
			func(ctx context.Context) error {
				for _, key := range keys {
					if err := c.plain.Get(ctx, key).Err(); err != nil {
						return err
					}
				}
				return nil
			},
		} {
			rate, _ := measure(b, 1, call)
			rates[i] = append(rates[i], rate)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(rates[0]), "op/s")
	b.ReportMetric(middle(rates[0])/middle(rates[1]), "x-throughput")
}
