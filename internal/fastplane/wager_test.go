package fastplane

import "testing"

// chances takes n chances with one outcome, and returns how many were taken.
func (w *wager) chances(n int, wins bool) (taken int) {
	for range n {
		if !w.take() {
			continue
		}
		taken++
		if wins {
			w.won()
		} else {
			w.lost()
		}
	}
	return taken
}

func TestAWagerThatWinsIsAlwaysTaken(t *testing.T) {
	w := wager{stake: 2, credit: maxCredit}
	if n := w.chances(1000, true); n != 1000 {
		t.Errorf("%d of 1000 chances were taken", n)
	}
	if w.chances(1, false); w.chances(100, true) != 100 {
		t.Error("one loss was enough to give it up")
	}
}

func TestAWagerThatLosesIsTriedEverMoreRarely(t *testing.T) {
	w := wager{stake: 2, credit: maxCredit}
	if n := w.chances(maxCredit/2, false); n != maxCredit/2 {
		t.Errorf("it was given up after %d losses", n)
	}
	const trial = trialCredit / 2
	for rest := minRest; rest <= maxRest; rest *= 2 {
		if n := w.chances(rest, false); n != 0 {
			t.Fatalf("%d of the %d chances to rest were taken", n, rest)
		}
		if n := w.chances(trial, false); n != trial {
			t.Fatalf("%d of %d chances of a trial were taken", n, trial)
		}
	}
	const long = 100 * (maxRest + trial)
	if n := w.chances(long, false); n != 100*trial {
		t.Errorf("%d of %d chances were taken", n, long)
	}
	if n := w.chances(maxRest+100, true); n != 100 {
		t.Errorf("after a trial that won, %d of 100 chances were taken", n)
	}
	if w.chances(maxCredit/2, false); w.chances(minRest+1, false) != 1 {
		t.Error("it rests as long as before it won")
	}
}

// Where it wins every other time, it costs as much as it gains.
func TestAWagerThatWinsHalfOfTheTimeIsGivenUp(t *testing.T) {
	w := wager{stake: 2, credit: maxCredit}
	taken := 0
	for i := range 100_000 {
		taken += w.chances(1, i%2 == 0)
	}
	if taken > 5000 {
		t.Errorf("%d of 100,000 chances were taken", taken)
	}
}

func TestAWagerWithoutAStakeIsNeverTaken(t *testing.T) {
	var w wager
	if n := w.chances(2*maxRest, true); n != 0 {
		t.Errorf("%d chances were taken", n)
	}
}

// Answers that come one by one make no poll worth while, those of a good part of
// the calls do.
func TestPollingForManyWinsByWhatItBrings(t *testing.T) {
	for _, test := range []struct {
		waiting, answered int32
		wins              bool
	}{
		{1, 1, true}, {8, 1, true}, {64, 8, true}, {64, 7, false}, {64, 0, false}, {1000, 124, false},
		{8, -3, false}, // more calls came than were answered
	} {
		c := &Client{crowd: spin{wager: wager{stake: 2, credit: 4}}}
		c.learn(test.waiting, test.answered)
		if wins := c.crowd.credit > 4; wins != test.wins {
			t.Errorf("%d answers of %d: won: %v", test.answered, test.waiting, wins)
		}
	}
}
