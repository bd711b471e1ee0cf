package contest

import (
	"time"

	"github.com/cachewright/cachewright/bench/internal/stats"
)

// A Score is what a contender was measured at, round by round.
type Score struct {
	Contender Contender
	Turns     []Turn
}

// Rates are the operations a second of each round.
func (s Score) Rates() []float64 {
	return s.each(func(t Turn) float64 { return float64(t.Operations) / t.Took.Seconds() })
}

// Medians are the median latencies of each round, in µs an operation.
func (s Score) Medians() []float64 {
	return s.each(func(t Turn) float64 { return t.micros(0.5) })
}

// P99 is the 99th percentile of the latencies of all rounds together, in µs.
func (s Score) P99() float64 {
	all := Turn{Latencies: new(stats.Histogram), Each: s.Contender.each()}
	for _, t := range s.Turns {
		all.Latencies.Merge(t.Latencies)
	}
	return all.micros(0.99)
}

// CPU is the median over the rounds of the processor time that all processes
// spent for an operation, in µs.
func (s Score) CPU() float64 {
	return stats.Median(s.each(func(t Turn) float64 {
		return float64(t.CPU) / float64(time.Microsecond) / float64(t.Operations)
	}))
}

// Allocs is the median over the rounds of the allocations of an operation in
// this process.
func (s Score) Allocs() float64 {
	return stats.Median(s.each(func(t Turn) float64 { return float64(t.Allocs) / float64(t.Operations) }))
}

func (s Score) each(measure func(Turn) float64) []float64 {
	values := make([]float64, len(s.Turns))
	for i, t := range s.Turns {
		values[i] = measure(t)
	}
	return values
}

func (t Turn) micros(q float64) float64 {
	return float64(t.Latencies.Quantile(q)) / float64(time.Microsecond) / float64(t.Each)
}
