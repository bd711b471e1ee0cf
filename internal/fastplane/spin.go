package fastplane

import (
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// spinPolls is how often a socket is polled before its reader sleeps: for about
	// twice as long as it takes to wake a core, which is what a poll that succeeds
	// saves at either end.
	spinPolls = 200
	// pollsATurn is how often a reader polls before goroutines that need its
	// processor have their turn.
	pollsATurn = 4
	// awake is how long a reader that has to sleep now and then goes on without,
	// whatever it wins by that. It looks at the clock in some waits only.
	awake      = 2 * time.Millisecond
	clockWaits = 16
)

// spinners counts the readers of this process that poll. Many at once would take
// the processors from those whose answers they poll for.
var spinners atomic.Int32

// A spin is the wager that polling for a moment before sleep pays.
type spin struct {
	wager
	most  int32     // readers of the process that may poll at once
	alone bool      // the process had one processor when last asked
	tires bool      // see awake
	waits int       // polled for since the reader slept
	since time.Time // of the first of them at which it looked at the clock
}

// newSpin makes the spin of one end. At least one end of a plane has to tire:
// while a core sleeps the system has it for others. So has an end whose process
// has one processor: its runtime asks other sockets when that has nothing to do.
func newSpin(tires bool) spin {
	processors := runtime.GOMAXPROCS(0)
	s := spin{most: int32(max(1, processors/2)), alone: processors == 1, tires: tires || processors == 1}
	if runtime.NumCPU() > 1 { // else the other end can't run meanwhile
		s.wager = wager{stake: 2, credit: maxCredit}
	}
	return s
}

// begin reports whether to poll in this wait. Who does calls end.
func (s *spin) begin() bool {
	if s.tired() || !s.take() {
		s.rested()
		return false
	}
	if spinners.Add(1) > s.most {
		spinners.Add(-1)
		return false
	}
	return true
}

func (s *spin) end() { spinners.Add(-1) }

// tired reports whether it is time for the reader to sleep.
func (s *spin) tired() bool {
	if s.waits++; !s.tires || s.waits%clockWaits != 0 {
		return false
	}
	s.alone = runtime.GOMAXPROCS(0) == 1 // a driver gives processors back once it has no use for them
	if s.since.IsZero() {
		s.since = time.Now()
		return false
	}
	return time.Since(s.since) > awake
}

// rested tells that the reader has slept, or waited for something else.
func (s *spin) rested() { s.waits, s.since = 0, time.Time{} }

// pause gives others their turn between two polls.
func (s *spin) pause(poll int) {
	if s.alone && poll%pollsATurn == pollsATurn-1 {
		runtime.Gosched()
	}
}
