package main

import (
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/bench/internal/baseline"
	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/cachewright/cachewright/bench/internal/floor"
	"github.com/cachewright/cachewright/bench/internal/report"
	"github.com/cachewright/cachewright/bench/internal/suite"
)

// Turns are too short here for a ratio to mean anything: only that every floor
// has one, against servers and contenders that all work.
func TestEveryFloorIsMeasured(t *testing.T) {
	err := with(t.Context(), suite.Options{}, func(b *bench) error {
		all := b.suite.Contests()
		keys := make(map[string]bool)
		for _, c := range all {
			if keys[c.Key] {
				t.Errorf("there are two contests %s", c.Key)
			}
			keys[c.Key] = true
			if contest := (contest.Result{Contest: c, Scores: scoresOf(c)}); contest.Score(c.Baseline) == nil {
				t.Errorf("%s: the baseline %s does not take part", c.Key, c.Baseline)
			}
		}
		results, err := b.contests(t.Context(), needed(all, floor.All()), contest.Plan{Rounds: 1, Turn: 10 * time.Millisecond})
		if err != nil {
			return err
		}
		verdicts, err := floor.Judge(floor.All(), results)
		for _, v := range verdicts {
			if !(v.Ratio > 0) {
				t.Errorf("%s: the ratio is %v", v.Work, v.Ratio)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func scoresOf(c contest.Contest) (scores []contest.Score) {
	for _, contender := range c.Contenders {
		scores = append(scores, contest.Score{Contender: contender})
	}
	return scores
}

func TestOnlyWhatAFloorIsAboutIsNeeded(t *testing.T) {
	t.Parallel()
	who := func(keys ...string) (all []contest.Contender) {
		for _, key := range keys {
			all = append(all, contest.Contender{Key: key})
		}
		return all
	}
	got := needed([]contest.Contest{
		{Key: "kept", Contenders: who("fast", "grpc", "unary", "direct")},
		{Key: "other", Contenders: who("fast", "direct")},
	}, []floor.Floor{
		{Contest: "kept", Of: "fast", Against: "unary"},
		{Contest: "kept", Of: "fast", Against: "direct"},
	})
	if len(got) != 1 || got[0].Key != "kept" || len(got[0].Contenders) != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestTheLastLineIsTheVerdict(t *testing.T) {
	t.Parallel()
	machine := report.Machine{CPU: "this"}
	low := baseline.Finding{Verdict: floor.Verdict{Floor: floor.Floor{Work: "Get"}}, Why: "1.00, floor at least 2"}
	for want, c := range map[string]check{
		"PASS against the baseline of this machine: ":                    {baseline: baseline.New(machine, nil), machine: machine},
		"PASS by the floors, for there is no baseline: ":                 {machine: machine},
		"FAIL by the floors, for the baseline is of another machine: 1 ": {baseline: baseline.New(report.Machine{}, nil), machine: machine, found: []baseline.Finding{low}},
	} {
		var out strings.Builder
		c.verdict(&out)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, want) {
			t.Errorf("got %q, want %q", last, want)
		}
		if len(lines) != 1+len(c.found) || len(c.found) > 0 && lines[0] != "Get: 1.00, floor at least 2" {
			t.Errorf("got %q", lines)
		}
	}
}
