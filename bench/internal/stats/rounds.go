package stats

import (
	"math"
	"slices"
)

// Median is the middle of values, NaN of none.
func Median(values []float64) float64 { return quantile(values, 0.5) }

// Spread is half the distance between the quartiles, as a share of the median:
// half of the values are about that close to it.
func Spread(values []float64) float64 {
	median := Median(values)
	if median == 0 || math.IsNaN(median) {
		return 0
	}
	return (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / math.Abs(median)
}

// Ratios are the quotients of what two were measured at in the same rounds.
func Ratios(over, under []float64) []float64 {
	ratios := make([]float64, 0, len(over))
	for i := range min(len(over), len(under)) {
		if under[i] != 0 {
			ratios = append(ratios, over[i]/under[i])
		}
	}
	return ratios
}

// quantile interpolates between the two values that are next to it.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
