package memcached

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/cachewright/cachewright/internal/servertest"
)

// BenchmarkAgainstGomemcache compares the store with a gomemcache client that
// is used directly, in turns within one run, and reports the median of the
// ratios of their throughput: above 1 the store does more.
func BenchmarkAgainstGomemcache(b *testing.B) {
	for _, network := range []string{"tcp", "unix"} {
		r := startRivals(b, network)
		for _, work := range []string{"get", "set"} {
			for _, callers := range []int{1, 8, 64} {
				b.Run(fmt.Sprintf("%s/%s/%d callers", network, work, callers), func(b *testing.B) {
					r.compete(b, work, callers)
				})
			}
		}
	}
}

// rivals are the two ways to one server.
type rivals struct {
	store  *store
	direct *memcache.Client
}

func startRivals(b *testing.B, network string) rivals {
	b.Helper()
	server := servertest.StartMemcached(b, servertest.MemcachedOptions{Unix: network == "unix"})
	addr := server.Addr()
	if network == "unix" {
		addr = server.Socket()
	}
	direct := memcache.New(addr)
	direct.MaxIdleConns = 64
	direct.Timeout = 10 * time.Second
	return rivals{openTest(b, at(addr)), direct}
}

const benchKeys = 1000

func (r rivals) compete(b *testing.B, work string, callers int) {
	value := make([]byte, 100)
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute) // a deadline, as every call has one
	defer cancel()
	for i := range benchKeys {
		must(b, r.store.Set(ctx, strconv.Itoa(i), value, time.Hour))
		must(b, r.direct.Set(&memcache.Item{Key: "direct" + strconv.Itoa(i), Value: value, Expiration: 3600}))
	}
	byStore := func(i int) error {
		if work == "set" {
			return r.store.Set(ctx, strconv.Itoa(i), value, time.Hour)
		}
		_, ok, err := r.store.Get(ctx, strconv.Itoa(i))
		if err == nil && !ok {
			err = memcache.ErrCacheMiss
		}
		return err
	}
	byClient := func(i int) error {
		if work == "set" {
			return r.direct.Set(&memcache.Item{Key: "direct" + strconv.Itoa(i), Value: value, Expiration: 3600})
		}
		_, err := r.direct.Get("direct" + strconv.Itoa(i))
		return err
	}
	var ratios, latencies []float64
	for b.Loop() {
		one, other := race(b, callers, byStore), race(b, callers, byClient)
		ratios = append(ratios, one.rate/other.rate)
		latencies = append(latencies, float64(one.median)/float64(other.median))
	}
	b.ReportMetric(median(ratios), "×throughput")
	b.ReportMetric(median(latencies), "×latency")
	b.ReportMetric(0, "ns/op")
}

type result struct {
	rate   float64 // calls a second
	median time.Duration
}

// race lets callers call for a while.
func race(b *testing.B, callers int, call func(i int) error) result {
	const long = 200 * time.Millisecond
	took := make([][]time.Duration, callers)
	start := time.Now()
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := c; ; i++ {
				before := time.Now()
				if err := call(i % benchKeys); err != nil {
					b.Error(err)
					return
				}
				after := time.Now()
				took[c] = append(took[c], after.Sub(before))
				if after.Sub(start) > long {
					return
				}
			}
		})
	}
	all.Wait()
	elapsed := time.Since(start)
	every := slices.Concat(took...)
	slices.Sort(every)
	return result{float64(len(every)) / elapsed.Seconds(), every[len(every)/2]}
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}
