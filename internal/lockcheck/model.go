package lockcheck

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// window is how many operations the model checker gets at a time: two of
	// each holder.
	window = 2000
	// patience ends the search for an order that there may be.
	patience = time.Minute
)

// An operation changes the model: a holder takes the lock, or it is free again,
// because the holder released it or because the lease expired.
type operation struct {
	free   bool
	holder int // 1 for the first of a window
	fence  uint64
}

// A lockState is what a lock is in: who has it, 0 for nobody, and the highest
// fence so far.
type lockState struct {
	holder int
	fence  uint64
}

// lockModel is a lock.
func lockModel(before uint64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return lockState{fence: before} },
		Step: func(state, input, _ any) (bool, any) {
			s, op := state.(lockState), input.(operation)
			if op.free {
				return s.holder == op.holder, lockState{fence: s.fence}
			}
			return s.holder == 0 && op.fence > s.fence, lockState{op.holder, op.fence}
		},
	}
}

// model checks the holders of one lock, sorted, in windows. What happens
// between two windows is the sweep's to see.
func (r Rules) model(sorted History) (found []Violation) {
	var before uint64
	for holders := range slices.Chunk(sorted, window/2) {
		first, last := holders[0], holders[len(holders)-1]
		switch porcupine.CheckOperationsTimeout(lockModel(before), r.operations(holders), patience) {
		case porcupine.Illegal:
			found = append(found, violation(NotALock, first, last, 0,
				"no order of the operations from %s to %s is that of a lock", first.who(), last.who()))
		case porcupine.Unknown:
			found = append(found, violation(Undecided, first, last, 0,
				"no order of the operations from %s to %s was found within %v", first.who(), last.who(), patience))
		}
		before = last.Fence
	}
	return found
}

func (r Rules) operations(holders History) []porcupine.Operation {
	operations := make([]porcupine.Operation, 0, 2*len(holders))
	for i, a := range holders {
		freed, known := r.freed(a)
		operations = append(operations,
			porcupine.Operation{
				ClientId: i, Input: operation{holder: i + 1, fence: a.Fence},
				Call: int64(a.started()), Return: int64(a.Acquired),
			},
			porcupine.Operation{
				ClientId: i, Input: operation{free: true, holder: i + 1, fence: a.Fence},
				Call: int64(freed), Return: int64(known),
			})
	}
	return operations
}

// freed is when the lock may have become free at the earliest, and when it was
// for sure: never, if nobody heard of it.
func (r Rules) freed(a Acquisition) (earliest, known time.Duration) {
	earliest, known = a.until(), math.MaxInt64
	if a.End == Released {
		known = max(a.Released, earliest)
	}
	for _, l := range r.Losses {
		if a.started() <= l.To && a.until() > l.From {
			earliest = min(earliest, max(l.From, a.started()))
		}
	}
	return earliest, known
}
