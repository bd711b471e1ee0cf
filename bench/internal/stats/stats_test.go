package stats

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestAQuantileIsAsCloseAsABucketIsWide(t *testing.T) {
	t.Parallel()
	for _, unit := range []time.Duration{1, 700, time.Microsecond, 3 * time.Millisecond, time.Second} {
		var h Histogram
		for i := 1; i <= 1000; i++ {
			h.Record(time.Duration(i) * unit)
		}
		if h.Count() != 1000 {
			t.Fatalf("%d of 1000 durations are counted", h.Count())
		}
		for _, q := range []float64{0.01, 0.5, 0.99, 1} {
			got, want := float64(h.Quantile(q)), q*1000*float64(unit)
			if math.Abs(got-want) > want/perPower+1 {
				t.Errorf("in units of %v the quantile %v is %v, want about %v", unit, q, time.Duration(got), time.Duration(want))
			}
		}
	}
}

func TestWhatIsBeyondAHistogramCountsAtItsEnds(t *testing.T) {
	t.Parallel()
	var h Histogram
	if h.Quantile(0.5) != 0 {
		t.Error("an empty histogram has a median")
	}
	h.Record(-time.Second)
	if got := h.Quantile(1); got != 0 {
		t.Errorf("less than nothing counts as %v", got)
	}
	h.Record(math.MaxInt64)
	if got := h.Quantile(1); got < 10*time.Minute {
		t.Errorf("the longest duration counts as %v", got)
	}
}

func TestMergedHistogramsCountBoth(t *testing.T) {
	t.Parallel()
	var h, other Histogram
	h.Record(time.Millisecond)
	other.Record(time.Second)
	h.Merge(&other)
	if h.Count() != 2 || h.Quantile(1) < 900*time.Millisecond || h.Quantile(0.5) > 2*time.Millisecond {
		t.Errorf("%d durations, the median is %v and the longest %v", h.Count(), h.Quantile(0.5), h.Quantile(1))
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	var h Histogram
	if n := testing.AllocsPerRun(100, func() { h.Record(time.Millisecond) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMedianAndSpread(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values         []float64
		median, spread float64
	}{
		"one value has no spread":          {[]float64{7}, 7, 0},
		"an even number takes the middle":  {[]float64{4, 1, 3, 2}, 2.5, 0.3},
		"an odd one doesn't need to":       {[]float64{5, 1, 3}, 3, 1. / 3},
		"an outlier changes neither":       {[]float64{9, 10, 11, 12, 1e9}, 11, 1. / 11},
		"zeros have no spread to speak of": {[]float64{0, 0, 0}, 0, 0},
	} {
		before := slices.Clone(test.values)
		if got := Median(test.values); math.Abs(got-test.median) > 1e-9 {
			t.Errorf("%s: median %v, want %v", name, got, test.median)
		}
		if got := Spread(test.values); math.Abs(got-test.spread) > 1e-9 {
			t.Errorf("%s: spread %v, want %v", name, got, test.spread)
		}
		if !slices.Equal(before, test.values) {
			t.Errorf("%s: the values were moved", name)
		}
	}
	if !math.IsNaN(Median(nil)) || Spread(nil) != 0 {
		t.Error("nothing has a median or a spread")
	}
}

func TestRatiosAreOfTheSameRound(t *testing.T) {
	t.Parallel()
	if got := Ratios([]float64{2, 9, 4, 8}, []float64{1, 3, 0}); !slices.Equal(got, []float64{2, 3}) {
		t.Errorf("got %v", got)
	}
}
