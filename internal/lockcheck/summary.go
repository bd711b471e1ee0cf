package lockcheck

import (
	"slices"
	"time"
)

// A Summary is a history in figures.
type Summary struct {
	Acquisitions int
	Contended    int // those that somebody waited for
	Lost         int
	Died         int
	Failed       int // to be released
	// Entering is how long attempts took that won.
	Entering Spread
	// HandOver is from the call of release to the entry of somebody who waited;
	// Across is the same where the two are in different processes.
	HandOver, Across Spread
}

// A Spread is what many durations have in common.
type Spread struct {
	N           int
	Median, P99 time.Duration
}

// Summary counts and measures.
func (h History) Summary() Summary {
	var s Summary
	var entering, handOver, across []time.Duration
	for _, holders := range byKey(h) {
		for i, a := range holders {
			s.count(a)
			if a.Tried != 0 {
				entering = append(entering, a.Acquired-a.Tried)
			}
			if i == 0 {
				continue
			}
			before := holders[i-1]
			if a.Asked >= before.until() {
				continue
			}
			s.Contended++
			if before.End != Released || a.Acquired < before.Left {
				continue
			}
			handOver = append(handOver, a.Acquired-before.Left)
			if a.Process != before.Process {
				across = append(across, a.Acquired-before.Left)
			}
		}
	}
	s.Entering, s.HandOver, s.Across = spread(entering), spread(handOver), spread(across)
	return s
}

func (s *Summary) count(a Acquisition) {
	s.Acquisitions++
	switch a.End {
	case Lost:
		s.Lost++
	case Died:
		s.Died++
	case Failed:
		s.Failed++
	}
}

func spread(ds []time.Duration) Spread {
	if len(ds) == 0 {
		return Spread{}
	}
	slices.Sort(ds)
	return Spread{len(ds), ds[len(ds)/2], ds[len(ds)*99/100]}
}
