package fastplane

import (
	"sync/atomic"
	"time"
)

// A pulse beats while calls are under way that their contexts could end, and
// tells those that take their time to watch their contexts. A cancellation may
// be late by two beats.
type pulse struct {
	beating atomic.Bool
	timer   *time.Timer
}

// pulsePeriod is the time between two beats.
const pulsePeriod = time.Millisecond

// beat keeps the pulse going.
func (c *Client) beat() {
	if !c.pulse.beating.Load() && c.pulse.beating.CompareAndSwap(false, true) {
		c.pulse.timer.Reset(pulsePeriod)
	}
}

// onBeat has a call watch its context that was there at the last beat.
func (c *Client) onBeat() {
	c.pulse.beating.Store(false) // who comes from here on keeps it going
	again := false
	for _, s := range c.slots[:c.made.Load()] {
		if !s.is(phaseWaiting) {
			continue
		}
		if s.patience.CompareAndSwap(patienceNew, patienceOneBeat) {
			again = true
			continue
		}
		if s.patience.CompareAndSwap(patienceOneBeat, patienceOver) {
			s.wake()
		}
	}
	if again {
		c.beat()
	}
}
