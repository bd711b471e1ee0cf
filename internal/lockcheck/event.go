package lockcheck

import (
	"fmt"
	"maps"
	"sync"
	"time"
)

// An event is what a participant saw. A worker process tells its controller of
// each one before it goes on, so that those of a killed process are known.
type event struct {
	Is        happening     `json:"is"`
	Goroutine int           `json:"g,omitempty"`
	Key       string        `json:"k,omitempty"`
	At        time.Duration `json:"t"`
	Asked     time.Duration `json:"asked,omitempty"` // entered
	Tried     time.Duration `json:"tried,omitempty"` // entered
	Until     time.Duration `json:"until,omitempty"` // entered, kept
	Fence     uint64        `json:"fence,omitempty"` // entered
	End       End           `json:"end,omitempty"`   // gone
	Why       string        `json:"why,omitempty"`   // missed, gone
}

type happening string

const (
	entered happening = "entered" // At is when the lock was had
	kept    happening = "kept"    // a renewal
	told    happening = "told"    // of a loss
	left    happening = "left"    // the block is over
	gone    happening = "gone"    // the release is
	missed  happening = "missed"  // an attempt did not enter
	parked  happening = "parked"  // a holder stays inside until it is told to go
	hello   happening = "hello"   // a process begins; Until is its wall clock
)

// A recorder makes the history out of events.
type recorder struct {
	mu      sync.Mutex // guards below
	inside  map[place]*Acquisition
	history History
	entries int
	missed  map[string]int
	trouble map[string]int // failed releases, by their error
}

// A place is where an acquisition takes place: a participant has one of a lock.
type place struct {
	process, goroutine int
	key                string
}

func newRecorder() *recorder {
	return &recorder{inside: make(map[place]*Acquisition), missed: make(map[string]int), trouble: make(map[string]int)}
}

func (r *recorder) take(process int, e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := place{process, e.Goroutine, e.Key}
	switch e.Is {
	case entered:
		r.entries++
		r.inside[p] = &Acquisition{
			Process: process, Goroutine: e.Goroutine, Key: e.Key, Fence: e.Fence,
			Asked: e.Asked, Tried: e.Tried, Acquired: e.At, Deadline: e.Until,
		}
		return
	case missed:
		r.missed[e.Why]++
		return
	}
	a := r.inside[p]
	if a == nil {
		return
	}
	switch e.Is {
	case kept:
		a.Deadline = e.Until
	case told:
		a.Told = e.At
	case left:
		a.Left = e.At
	case gone:
		a.Released, a.End = e.At, e.End
		if e.End == Failed {
			r.trouble[e.Why]++
		}
		r.close(p)
	}
}

// close moves an acquisition into the history.
func (r *recorder) close(p place) {
	r.history = append(r.history, *r.inside[p])
	delete(r.inside, p)
}

// died ends the acquisitions of a process. A release that was under way may
// have been made.
func (r *recorder) died(process int, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, a := range maps.Clone(r.inside) {
		if p.process == process {
			a.Released, a.End = at, Died
			r.close(p)
		}
	}
}

// count is how many have entered so far.
func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entries
}

// misses are the attempts that did not enter so far, by the reason.
func (r *recorder) misses() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.missed)
}

// result is the history so far.
func (r *recorder) result() (Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.inside); n > 0 {
		return Result{}, fmt.Errorf("%d holders never left", n)
	}
	return Result{History: r.history, Missed: r.missed, Trouble: r.trouble}, nil
}
