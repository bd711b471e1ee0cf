package floor

import (
	"math"
	"testing"
	"time"

	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/cachewright/cachewright/bench/internal/stats"
)

// measured makes a result of two contenders by their latencies, in each round.
func measured(key string, of, against []time.Duration) contest.Result {
	score := func(key string, latencies []time.Duration) contest.Score {
		s := contest.Score{Contender: contest.Contender{Key: key}}
		for _, latency := range latencies {
			turn := contest.Turn{
				Operations: int(time.Second / latency), Took: time.Second, Each: 1, Latencies: new(stats.Histogram),
			}
			turn.Latencies.Record(latency)
			s.Turns = append(s.Turns, turn)
		}
		return s
	}
	return contest.Result{
		Contest: contest.Contest{Key: key},
		Scores:  []contest.Score{score("of", of), score("against", against)},
	}
}

func TestAFloorIsJudgedByTheMedianOfTheRatiosOfARound(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	results := []contest.Result{measured("work", []time.Duration{2 * ms, 4 * ms, 100 * ms}, []time.Duration{8 * ms, 16 * ms, 50 * ms})}
	for name, test := range map[string]struct {
		measure Measure
		bound   float64
		ratio   float64
		kept    bool
	}{
		"more operations a second keep a floor":  {Throughput, 3.9, 4, true},
		"too few break it":                       {Throughput, 4.2, 4, false},
		"a lower latency keeps a floor":          {Quicker, 3.8, 4, true},
		"one that isn't low enough breaks it":    {Quicker, 4.3, 4, false},
		"a latency below the limit keeps it":     {Slower, 0.3, 0.25, true},
		"one above the limit breaks it":          {Slower, 0.2, 0.25, false},
		"what is only watched is never too low":  {Throughput, 0, 4, true},
		"what is only watched is never too high": {Slower, 0, 0.25, true},
	} {
		f := Floor{Work: name, Contest: "work", Of: "of", Against: "against", Measure: test.measure, Bound: test.bound}
		verdicts, err := Judge([]Floor{f}, results)
		if err != nil {
			t.Fatal(err)
		}
		if got := verdicts[0]; math.Abs(got.Ratio/test.ratio-1) > 0.05 || got.Kept() != test.kept {
			t.Errorf("%s: %.3f, kept is %v", name, got.Ratio, got.Kept())
		}
	}
}

func TestWhatWasNotMeasuredIsAnError(t *testing.T) {
	t.Parallel()
	results := []contest.Result{measured("work", []time.Duration{1}, []time.Duration{1})}
	for name, f := range map[string]Floor{
		"another contest":   {Contest: "rest", Of: "of", Against: "against"},
		"another contender": {Contest: "work", Of: "who", Against: "against"},
		"another baseline":  {Contest: "work", Of: "of", Against: "who"},
	} {
		if _, err := Judge([]Floor{f}, results); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestNoNumberIsWorseThanAny(t *testing.T) {
	t.Parallel()
	for _, m := range []Measure{Throughput, Quicker, Slower} {
		if v := (Verdict{Floor{Measure: m, Bound: 1}, math.NaN(), 0}); v.Kept() {
			t.Errorf("%v: what could not be computed keeps its floor", m)
		}
	}
}
