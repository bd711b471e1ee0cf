// Package stats has what measurements are made into: latencies counted in a
// histogram, and medians and quartiles over rounds.
package stats

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	fine     = 6 // 64 buckets between a power of two and the next
	perPower = 1 << fine
	longest  = 40 // 2^40 ns, a quarter of an hour; what takes longer counts as that
	buckets  = (longest - fine + 1) * perPower
)

// A Histogram counts durations, each to within 1.6 %, without allocating. The
// zero one is empty. Record may be called by several goroutines at once.
type Histogram struct{ counts [buckets]atomic.Uint32 }

// Record counts a duration.
func (h *Histogram) Record(d time.Duration) { h.counts[bucket(d)].Add(1) }

// Merge adds the counts of another.
func (h *Histogram) Merge(other *Histogram) {
	for i := range other.counts {
		if n := other.counts[i].Load(); n > 0 {
			h.counts[i].Add(n)
		}
	}
}

// Count is how many durations were recorded.
func (h *Histogram) Count() (n uint64) {
	for i := range h.counts {
		n += uint64(h.counts[i].Load())
	}
	return n
}

// Quantile is the duration that the share q of all recorded ones don't exceed,
// 0 of an empty histogram.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := q * float64(h.Count())
	var seen float64
	last := 0
	for i := range h.counts {
		n := h.counts[i].Load()
		if n == 0 {
			continue
		}
		last = i
		if seen += float64(n); seen >= rank {
			break
		}
	}
	return middle(last)
}

func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < perPower {
		return int(v)
	}
	shift := bits.Len64(v) - fine - 1
	return min(shift*perPower+int(v>>shift), buckets-1)
}

// middle is the duration that a bucket stands for.
func middle(i int) time.Duration {
	if i < 2*perPower {
		return time.Duration(i)
	}
	shift := i/perPower - 1
	low := uint64(i-shift*perPower) << shift
	return time.Duration(low + 1<<shift/2)
}
