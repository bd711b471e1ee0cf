package fastplane

// The bounds of what a wager learns.
const (
	maxCredit = 8
	minRest   = 16
	maxRest   = 1024
	// trialCredit is what a trial may lose.
	trialCredit = 6
)

// A wager is something that gains or costs a little, depending on what the
// other end does next. The last outcomes decide whether to go on with it; where
// they speak against it, it is tried again now and then. It asks no clock. A
// wager belongs to whoever reads the socket.
type wager struct {
	stake  int // what is lost of the credit; 0 if it is never taken
	credit int // what the last outcomes are worth
	rest   int // chances until the next trial
	pause  int // chances between the last trial and the next
}

// take reports whether to take this chance. Who does tells the outcome.
func (w *wager) take() bool {
	if w.stake == 0 || w.credit > 0 {
		return w.stake > 0
	}
	if w.rest--; w.rest >= 0 {
		return false
	}
	w.credit = trialCredit
	return true
}

func (w *wager) won() {
	w.credit = min(w.credit+1, maxCredit)
	if w.credit == maxCredit {
		w.pause = 0
	}
}

func (w *wager) lost() {
	w.credit = max(w.credit-w.stake, 0)
	if w.credit == 0 {
		w.pause = min(max(2*w.pause, minRest), maxRest)
		w.rest = w.pause
	}
}
