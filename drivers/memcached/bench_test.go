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
	"github.com/cachewright/cachewright/sdk"
)

// BenchmarkAgainstGomemcache compares the store with a gomemcache client that
// is used directly, in turns within one run, and reports the median of the
// ratios: of throughput, where above 1 the store does more, and of the median
// latency, where below 1 it is faster.
func BenchmarkAgainstGomemcache(b *testing.B) {
	for _, network := range []string{"tcp", "unix"} {
		r := startRivals(b, network)
		for _, work := range []string{"get", "set"} {
			for _, callers := range []int{1, 8, 64} {
				b.Run(fmt.Sprintf("%s/%s/%d callers", network, work, callers), func(b *testing.B) {
					throughput, latency := r.compare(b, work, callers, 15)
					for b.Loop() { // the work is done
					}
					b.ReportMetric(throughput, "×throughput")
					b.ReportMetric(latency, "×latency")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// BenchmarkBatch compares a batch of 100 with 100 calls.
func BenchmarkBatch(b *testing.B) {
	s := openTest(b, at(startServer(b).Addr()))
	keys, entries := entriesOf(100)
	for name, do := range map[string]func() error{
		"SetMany": func() error { return s.SetMany(b.Context(), entries) },
		"100 Sets": func() (err error) {
			for _, e := range entries {
				err = s.Set(b.Context(), e.Key, e.Value, e.TTL)
			}
			return err
		},
		"GetMany": func() error { _, err := s.GetMany(b.Context(), keys); return err },
		"100 Gets": func() (err error) {
			for _, key := range keys {
				_, _, err = s.Get(b.Context(), key)
			}
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			must(b, s.SetMany(b.Context(), entries))
			b.ReportAllocs()
			for b.Loop() {
				must(b, do())
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	s := openTest(b, at(startServer(b).Addr()))
	must(b, s.Set(b.Context(), "key", make([]byte, 100), sdk.NoExpiry))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := s.Get(b.Context(), "key"); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// rivals are two ways to one server.
type rivals struct {
	store  *store
	direct *memcache.Client
}

func startRivals(t testing.TB, network string) rivals {
	t.Helper()
	server := servertest.StartMemcached(t, servertest.MemcachedOptions{Unix: network == "unix"})
	addr := server.Addr()
	if network == "unix" {
		addr = server.Socket()
	}
	direct := clientOf(t, addr)
	direct.MaxIdleConns = 64 // one for each caller
	return rivals{openTest(t, at(addr)), direct}
}

const benchKeys = 1000

// compare lets callers of both work in turns, and returns the medians of the
// store's throughput and median latency, in the client's.
func (r rivals) compare(t testing.TB, work string, callers, rounds int) (throughput, latency float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // every call has a deadline
	defer cancel()
	value := make([]byte, 100)
	item := func(i int) *memcache.Item {
		return &memcache.Item{Key: "direct" + strconv.Itoa(i), Value: value, Expiration: 3600}
	}
	byStore := func(i int) error { return r.store.Set(ctx, strconv.Itoa(i), value, time.Hour) }
	byClient := func(i int) error { return r.direct.Set(item(i)) }
	for i := range benchKeys {
		must(t, byStore(i))
		must(t, byClient(i))
	}
	if work == "get" {
		byStore = func(i int) error { _, _, err := r.store.Get(ctx, strconv.Itoa(i)); return err }
		byClient = func(i int) error { _, err := r.direct.Get("direct" + strconv.Itoa(i)); return err }
	}
	var rates, latencies []float64
	for range rounds {
		one, other := race(t, callers, byStore), race(t, callers, byClient)
		rates = append(rates, one.rate/other.rate)
		latencies = append(latencies, float64(one.median)/float64(other.median))
	}
	return median(rates), median(latencies)
}

type result struct {
	rate   float64 // calls a second
	median time.Duration
}

// race lets callers call for a while.
func race(t testing.TB, callers int, call func(i int) error) result {
	t.Helper()
	const long = 200 * time.Millisecond
	took := make([][]time.Duration, callers)
	start := time.Now()
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := c; ; i++ {
				before := time.Now()
				if err := call(i % benchKeys); err != nil {
					t.Error(err)
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
