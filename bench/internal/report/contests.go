package report

import (
	"fmt"
	"strings"

	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/cachewright/cachewright/bench/internal/floor"
	"github.com/cachewright/cachewright/bench/internal/stats"
)

// Contests is a table of contests that differ by their number of callers.
func Contests(results []contest.Result) string {
	t := Table{Left: 1, Head: []string{
		"contender", "callers", "op/s", "× baseline", "p50 µs", "× baseline", "p99 µs", "spread", "CPU µs/op", "allocs/op",
	}}
	for _, r := range results {
		for _, s := range r.Scores {
			t.Add(row(r, s)...)
		}
	}
	return t.String()
}

func row(r contest.Result, s contest.Score) []string {
	callers := fmt.Sprint(r.Contest.Callers)
	if s.Contender.Alone {
		callers = "1"
	}
	rate, median := "", ""
	if base := r.Score(r.Contest.Baseline); base != nil {
		rate = Number(stats.Median(stats.Ratios(s.Rates(), base.Rates())))
		median = Number(stats.Median(stats.Ratios(s.Medians(), base.Medians())))
	}
	return []string{
		s.Contender.Title, callers, Number(stats.Median(s.Rates())), rate, Number(stats.Median(s.Medians())), median,
		Number(s.P99()), Share(stats.Spread(s.Rates())), Number(s.CPU()), Number(s.Allocs()),
	}
}

// Floors is a table of verdicts.
func Floors(verdicts []floor.Verdict) string {
	t := Table{Left: 3, Head: []string{"work", "measured by", "baseline", "floor", "ratio", "spread", "kept"}}
	for _, v := range verdicts {
		t.Add(v.Work, v.Measure.String(), v.Baseline, v.Limit(), Number(v.Ratio), Share(v.Spread), kept(v))
	}
	return t.String()
}

func kept(v floor.Verdict) string {
	switch {
	case v.Bound == 0:
		return ""
	case v.Kept():
		return "yes"
	}
	return "**no**"
}

// Section is a table with its title and what a reader has to know.
func Section(title, text string, results []contest.Result) string {
	return fmt.Sprintf("### %s\n\n%s\n\n%s\n", title, strings.TrimSpace(text), Contests(results))
}
