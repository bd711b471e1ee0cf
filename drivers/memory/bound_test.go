package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		options map[string]any
		problem string // "": none
	}{
		{nil, ""},
		{map[string]any{"max_bytes": "1MiB"}, ""},
		{map[string]any{"max_entries": 1}, ""},
		{map[string]any{"max_bytes": "64MiB", "max_entries": 1000}, "max_bytes and max_entries exclude each other"},
		{map[string]any{"max_bytes": 0}, "max_bytes: must be at least 4KiB"},
		{map[string]any{"max_bytes": "1KiB"}, "max_bytes: must be at least 4KiB"},
		{map[string]any{"max_entries": 0}, "max_entries: must be at least 1"},
		{map[string]any{"max_entries": -5}, "max_entries: must be at least 1"},
		{map[string]any{"max_entries": 1 << 40}, "max_entries: must be at most 2147483647"},
		{map[string]any{"max_size": 1}, "max_size: is not an option"},
	} {
		s, err := Driver.Open(t.Context(), test.options)
		if err == nil {
			s.Close(t.Context())
		}
		switch {
		case test.problem == "" && err != nil:
			t.Errorf("open with %v: %v", test.options, err)
		case test.problem != "" && (!errors.Is(err, sdk.ErrInvalidOptions) || !strings.Contains(err.Error(), test.problem)):
			t.Errorf("open with %v: %v; want invalid options, %s", test.options, err, test.problem)
		}
	}
}

func TestTraits(t *testing.T) {
	in, err := Driver.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close(t.Context())
	tr := in.Traits()
	if tr.Class != sdk.ClassVolatile || tr.LockStrategy != sdk.StrategyRedlock || tr.LockScope != sdk.ScopeProcess ||
		!tr.ReleaseCompares || tr.Space != "" || tr.Granularity != time.Millisecond {
		t.Errorf("traits = %+v", tr)
	}
	if all := 14; len(in.Capabilities()) != all {
		t.Errorf("%d capabilities, %v; want all %d", len(in.Capabilities()), in.Capabilities(), all)
	}
}

func TestStoreStaysWithinItsBound(t *testing.T) {
	for name, o := range map[string]options{
		"bytes":   {MaxBytes: new(sdk.Bytes(1 << 20))},
		"entries": {MaxEntries: new(int64(1000))},
	} {
		t.Run(name, synctested(func(t *testing.T) {
			s := opened(t, o)
			for i := range 20_000 {
				key := strconv.Itoa(i)
				if err := s.Set(t.Context(), key, make([]byte, rand.IntN(2000)), time.Hour); err != nil {
					t.Fatal(err)
				}
				if i%100 != 0 {
					continue
				}
				stats := statsOf(t, s)
				if stats["bytes"] > stats["bytes.max"] || stats["entries.max"] > 0 && stats["entries"] > stats["entries.max"] {
					t.Fatalf("after %d writes the store is above its bound: %v", i+1, stats)
				}
			}
			stats := statsOf(t, s)
			if stats["evicted"]+stats["entries"] != 20_000 {
				t.Errorf("of 20,000 entries are there and evicted: %v", stats)
			}
			inStep(t, s)
		}))
	}
}

func synctested(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

func TestValueThatCanNeverFitIsRefused(t *testing.T) {
	s := opened(t, options{MaxBytes: new(sdk.Bytes(1 << 20))})
	most := int(s.Traits().MaxValue)
	longest := strings.Repeat("k", longestKey)
	if err := s.Set(t.Context(), longest, make([]byte, most), sdk.NoExpiry); err != nil {
		t.Fatalf("Set of %d bytes, the most there is room for: %v", most, err)
	}
	if _, ok, _ := s.Get(t.Context(), longest); !ok {
		t.Errorf("the largest value under the longest key was not stored")
	}
	err := s.Set(t.Context(), longest, make([]byte, most+1), sdk.NoExpiry)
	if !errors.Is(err, sdk.ErrTooLarge) || !strings.Contains(err.Error(), "max_bytes of 1MiB") {
		t.Errorf("Set of %d bytes: %v; want ErrTooLarge that names max_bytes", most+1, err)
	}
	if value, ok, _ := s.Get(t.Context(), longest); !ok || len(value) != most {
		t.Errorf("the refused value left %d bytes, %t", len(value), ok)
	}
}

func TestLeasesAreNotEvicted(t *testing.T) {
	s := opened(t, options{MaxEntries: new(int64(10))})
	for i := range 1000 {
		r := sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: strconv.Itoa(i), Owner: "owner", Lease: time.Hour}
		if g, err := s.AcquireLease(t.Context(), r); err != nil || !g.OK {
			t.Fatalf("AcquireLease: %+v, %v", g, err)
		}
		s.Set(t.Context(), r.Key, nil, sdk.NoExpiry)
	}
	if stats := statsOf(t, s); stats["leases"] != 1000 || stats["entries"] > 10 {
		t.Errorf("after 1,000 leases and entries: %v", stats)
	}
}

// TestIndexKeepsInStep lets all ways in which entries come and go meet.
func TestIndexKeepsInStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, options{MaxEntries: new(int64(200))})
		var writers sync.WaitGroup
		for w := range 8 {
			writers.Go(func() { stir(t, s, rand.New(rand.NewPCG(uint64(w), 1))) })
		}
		writers.Wait()
		inStep(t, s)
	})
}

func stir(t *testing.T, s *store, random *rand.Rand) {
	for range 10_000 {
		key := strconv.Itoa(random.IntN(400))
		ttl := time.Duration(random.IntN(4)) * time.Millisecond
		switch random.IntN(9) {
		case 0, 1, 2:
			s.Set(t.Context(), key, []byte("1"), ttl)
		case 3:
			s.Add(t.Context(), key, []byte("1"), ttl)
		case 4:
			s.Pull(t.Context(), key)
		case 5:
			s.Increment(t.Context(), key, 1, ttl)
		case 6:
			s.Touch(t.Context(), key, ttl)
		case 7:
			s.Get(t.Context(), key)
		case 8:
			time.Sleep(100 * time.Microsecond)
		}
	}
}

// inStep fails unless the index lists exactly what the engine holds.
func inStep(t *testing.T, s *store) {
	t.Helper()
	time.Sleep(5 * time.Second) // of a bubble, until what has expired is swept
	held := make(map[string]bool)
	for key := range s.entries.Keys() {
		held[key] = true
	}
	listed, next := s.index.page(cursor{}, "", 1<<30)
	if next.bytes() != nil || len(listed) != len(held) {
		t.Errorf("the index lists %d keys and the engine holds %d", len(listed), len(held))
	}
	for _, key := range listed {
		if !held[key] {
			t.Errorf("the index lists %s, which the engine doesn't hold", key)
		}
	}
}

// TestOverheadIsHonest compares what the bound counts with what the heap takes.
func TestOverheadIsHonest(t *testing.T) {
	for _, size := range []int{0, 100, 1000} {
		s := opened(t, options{MaxEntries: new(int64(1 << 20))})
		const n = 30_000
		before := heap()
		for i := range n {
			if err := s.Set(t.Context(), fmt.Sprintf("key:%08d", i), make([]byte, size), time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		taken := float64(heap()-before) / n
		counted := float64(weigh("key:00000000", &entry{value: make([]byte, size)}))
		if taken > 1.3*counted || taken < counted/2 {
			t.Errorf("a value of %d bytes takes %.0f bytes and is counted as %.0f", size, taken, counted)
		}
		runtime.KeepAlive(s)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func opened(t testing.TB, o options) *store {
	t.Helper()
	s, err := open(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func statsOf(t *testing.T, s *store) map[string]int64 {
	t.Helper()
	stats, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	numbers := make(map[string]int64)
	for _, stat := range stats {
		n, err := strconv.ParseInt(stat.Value, 10, 64)
		if err != nil {
			t.Errorf("%s = %q; want a number", stat.Name, stat.Value)
		}
		numbers[stat.Name] = n
	}
	return numbers
}
