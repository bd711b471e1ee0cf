package growth

import (
	"slices"
	"testing"
)

func TestACurveMayGrowInProportionAndNoFaster(t *testing.T) {
	t.Parallel()
	sizes := []int{1, 10, 100}
	for name, test := range map[string]struct {
		costs         []float64
		linear, level int // faults
	}{
		"a level one":                        {[]float64{5, 5, 5}, 0, 0},
		"one that falls":                     {[]float64{5, 3, 1}, 0, 0},
		"one in proportion":                  {[]float64{1, 10, 100}, 0, 2},
		"one that wavers within the slack":   {[]float64{1, 2, 2.4}, 0, 0},
		"a quadratic one":                    {[]float64{1, 100, 10_000}, 2, 2},
		"one that bends at the end":          {[]float64{1, 10, 1000}, 1, 2},
		"one whose start hides the bend":     {[]float64{100, 100, 10_000}, 1, 1},
		"one that falls and then grows fast": {[]float64{100, 1, 50}, 1, 1},
	} {
		c := curve{name: name, sizes: sizes, costs: test.costs}
		if got := c.linear(); len(got) != test.linear {
			t.Errorf("%s: %d faults against linear, want %d: %v", name, len(got), test.linear, got)
		}
		if got := c.level(); len(got) != test.level {
			t.Errorf("%s: %d faults against level, want %d: %v", name, len(got), test.level, got)
		}
	}
}

func TestStepsArePowersOfTen(t *testing.T) {
	t.Parallel()
	if got := steps(1000, 1_000_000); !slices.Equal(got, []int{1000, 10_000, 100_000, 1_000_000}) {
		t.Errorf("got %v", got)
	}
	if got := steps(1, 5); !slices.Equal(got, []int{1}) {
		t.Errorf("got %v", got)
	}
}
