package fastplane

import (
	"sync/atomic"
	"time"
)

// A pulse beats while something is under way, and so tells what takes its time
// from what is over soon without a clock for each.
type pulse struct {
	beating atomic.Bool
	timer   *time.Timer
}

// pulsePeriod is the time between two beats.
const pulsePeriod = time.Millisecond

// beat keeps the pulse going.
func (p *pulse) beat() {
	if !p.beating.Load() && p.beating.CompareAndSwap(false, true) {
		p.timer.Reset(pulsePeriod)
	}
}

// onBeat has a call watch its context that was there at the last beat. So a
// cancellation may be late by two beats.
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
		c.pulse.beat()
	}
}
