package contest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestEveryContenderHasATurnInEveryRound(t *testing.T) {
	t.Parallel()
	sleep := func(context.Context, int) error { time.Sleep(100 * time.Microsecond); return nil }
	results, err := Run(t.Context(), []Contest{
		{Key: "one", Callers: 2, Contenders: []Contender{{Key: "a", Call: sleep}, {Key: "b", Call: sleep, Each: 10}}},
		{Key: "two", Callers: 1, Rounds: 1, Contenders: []Contender{{Key: "a", Call: sleep}}},
	}, Plan{Rounds: 3, Turn: 10 * time.Millisecond}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{3, 1} {
		for _, score := range results[i].Scores {
			if len(score.Turns) != want {
				t.Errorf("%s: %s had %d turns, want %d", results[i].Contest.Key, score.Contender.Key, len(score.Turns), want)
			}
			for _, turn := range score.Turns {
				if turn.Operations == 0 || turn.Operations != int(turn.Latencies.Count())*score.Contender.each() {
					t.Errorf("%d operations by %d calls", turn.Operations, turn.Latencies.Count())
				}
			}
		}
	}
	if slow := results[0].Score("a"); slow.Medians()[0] < 100 {
		t.Errorf("a call that sleeps for 100 µs is measured as %v", slow.Medians())
	}
	ten := results[0].Score("b")
	if turn := ten.Turns[0]; ten.Medians()[0] != float64(turn.Latencies.Quantile(0.5).Nanoseconds())/1000/10 {
		t.Errorf("a tenth of a call is measured as %v, a call as %v", ten.Medians(), turn.Latencies.Quantile(0.5))
	}
	if results[0].Score("c") != nil {
		t.Error("there is a score of nobody")
	}
}

func TestACallThatFailsEndsTheRunAndIsNamed(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := Run(t.Context(), []Contest{{Key: "work", Callers: 3, Contenders: []Contender{
		{Key: "bad", Call: func(_ context.Context, n int) error {
			if n > 10 {
				return broken
			}
			return nil
		}},
	}}}, Plan{Rounds: 1, Turn: time.Hour}, func(int) {})
	if !errors.Is(err, broken) || err.Error() != "work, bad: broken" {
		t.Errorf("got %v", err)
	}
}

func TestPacedCallersDoNotCallMoreOften(t *testing.T) {
	t.Parallel()
	c := Contest{Key: "paced", Callers: 4, Pace: 10 * time.Millisecond}
	turn, err := c.turn(t.Context(), Contender{Call: func(context.Context, int) error { return nil }}, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if most := 4 * (int(turn.Took/c.Pace) + 2); turn.Operations == 0 || turn.Operations > most {
		t.Errorf("%d calls in %v, want at most %d", turn.Operations, turn.Took, most)
	}
}

func TestOneGoroutineCallsForAContenderThatIsAlone(t *testing.T) {
	t.Parallel()
	var inside, most atomic.Int32
	call := func(context.Context, int) error {
		if n := inside.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(time.Millisecond)
		inside.Add(-1)
		return nil
	}
	c := Contest{Callers: 8}
	if _, err := c.turn(t.Context(), Contender{Call: call, Alone: true}, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if most.Load() != 1 {
		t.Errorf("%d called at once", most.Load())
	}
}

func TestOnlyTheTimedPartCounts(t *testing.T) {
	t.Parallel()
	c := Contest{Callers: 1}
	turn, err := c.turn(t.Context(), Contender{Timed: func(context.Context, int) (time.Duration, error) {
		time.Sleep(2 * time.Millisecond)
		return time.Microsecond, nil
	}}, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if got := turn.Latencies.Quantile(1); got > 2*time.Microsecond {
		t.Errorf("the latency is %v", got)
	}
}

func TestWithKeepsContenders(t *testing.T) {
	t.Parallel()
	c := Contest{Contenders: []Contender{{Key: "a"}, {Key: "b"}}}
	kept := c.With(func(key string) bool { return key == "b" })
	if len(kept.Contenders) != 1 || kept.Contenders[0].Key != "b" || len(c.Contenders) != 2 {
		t.Errorf("kept %v of %v", kept.Contenders, c.Contenders)
	}
}
