package fastplane

import "runtime"

// spinPolls is how often a socket is polled before its reader sleeps: for about
// twice as long as it takes to wake a core, which is what a poll that succeeds
// saves at either end.
const spinPolls = 200

// newSpin makes the wager that polling for a moment pays. It never does where
// the two ends share one core.
func newSpin() wager {
	if runtime.NumCPU() == 1 {
		return wager{}
	}
	return wager{stake: 2, credit: maxCredit}
}
