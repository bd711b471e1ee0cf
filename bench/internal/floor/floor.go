// Package floor has the ratios that must not be fallen below, as data, and
// judges results by them.
package floor

import (
	"fmt"

	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/cachewright/cachewright/bench/internal/stats"
)

// A Measure is how a ratio of two contenders is computed.
type Measure int

const (
	// Throughput is operations a second over those of the baseline: more is better.
	Throughput Measure = iota
	// Quicker is the baseline's median latency over the contender's: more is better.
	Quicker
	// Slower is the contender's median latency over the baseline's: less is better.
	Slower
)

// String says it in a table.
func (m Measure) String() string {
	return [...]string{"throughput", "median latency, how many times lower", "median latency, how many times that"}[m]
}

// A Floor is a ratio to keep: of one contender against another, both in one
// contest.
type Floor struct {
	Work        string
	Contest     string
	Of, Against string
	Measure     Measure
	Bound       float64 // 0: the ratio is watched and has no floor
	Baseline    string  // what Against is, for readers
}

// A Verdict is what a floor's ratio was.
type Verdict struct {
	Floor
	Ratio  float64 // the median over the rounds of the ratio in one round
	Spread float64 // of these: half the distance of the quartiles, as a share
}

// Judge computes the ratios of floors. A contest that is missing from the
// results is an error: what isn't measured isn't kept.
func Judge(floors []Floor, results []contest.Result) ([]Verdict, error) {
	verdicts := make([]Verdict, 0, len(floors))
	for _, f := range floors {
		of, against := scores(f, results)
		if of == nil || against == nil {
			return nil, fmt.Errorf("%s: %s and %s were not measured in %s", f.Work, f.Of, f.Against, f.Contest)
		}
		ratios := f.Measure.ratios(of, against)
		verdicts = append(verdicts, Verdict{f, stats.Median(ratios), stats.Spread(ratios)})
	}
	return verdicts, nil
}

// Kept says whether the ratio keeps its floor.
func (v Verdict) Kept() bool { return v.Bound == 0 || !v.Worse(v.Ratio, v.Bound) }

// Worse says whether one ratio is worse than another. What is no number is worse
// than any.
func (f Floor) Worse(ratio, than float64) bool {
	if f.Measure == Slower {
		return !(ratio <= than)
	}
	return !(ratio >= than)
}

// Limit says the floor in words.
func (f Floor) Limit() string {
	switch {
	case f.Bound == 0:
		return "none"
	case f.Measure == Slower:
		return fmt.Sprintf("at most %.3g", f.Bound)
	}
	return fmt.Sprintf("at least %.3g", f.Bound)
}

func (m Measure) ratios(of, against *contest.Score) []float64 {
	switch m {
	case Throughput:
		return stats.Ratios(of.Rates(), against.Rates())
	case Quicker:
		return stats.Ratios(against.Medians(), of.Medians())
	default:
		return stats.Ratios(of.Medians(), against.Medians())
	}
}

func scores(f Floor, results []contest.Result) (of, against *contest.Score) {
	for _, r := range results {
		if r.Contest.Key == f.Contest {
			return r.Score(f.Of), r.Score(f.Against)
		}
	}
	return nil, nil
}
