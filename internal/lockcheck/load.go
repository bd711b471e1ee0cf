package lockcheck

import (
	"math/rand/v2"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// A Load is what the goroutines of a process do: they take a lock, stay inside
// for a while, leave it, and come again.
type Load struct {
	Goroutines int
	// Keys are the locks. No one is the end of another.
	Keys []string
	// Together is how many locks are taken at once, if more than one.
	Together int
	// Apart gives each goroutine locks of its own.
	Apart bool
	// Strategy and Lease are of all locks.
	Strategy string
	Lease    time.Duration
	// Hold and Pause are how long a goroutine stays inside and outside at most,
	// or always if Steady.
	Hold, Pause time.Duration
	Steady      bool
	// Overstay is the share of holders that stay up to a quarter longer than
	// the lease, so that it is renewed.
	Overstay float64
	// GiveUp is the share of attempts that are limited or cancelled.
	GiveUp float64
	// Seed is what chance begins with.
	Seed uint64
}

// An errand is one round of a goroutine.
type errand struct {
	keys   []string
	wait   time.Duration // negative: no limit
	cancel time.Duration // negative: never
	hold   time.Duration
	pause  time.Duration
}

// errand draws the next round of a goroutine, which is named where it has locks
// of its own.
func (l Load) errand(r *rand.Rand, name string) errand {
	e := errand{keys: l.someKeys(r, name), wait: -1, cancel: -1, hold: l.Hold, pause: l.Pause}
	if l.Steady {
		return e
	}
	e.hold, e.pause = upTo(r, l.Hold), upTo(r, l.Pause)
	if r.Float64() < l.Overstay {
		e.hold = upTo(r, l.Lease*5/4)
	}
	if r.Float64() < l.GiveUp {
		switch r.IntN(4) {
		case 0:
			e.wait = 0
		case 1:
			e.wait = upTo(r, 20*(l.Hold+time.Millisecond))
		default:
			e.cancel = upTo(r, 20*(l.Hold+time.Millisecond))
		}
	}
	return e
}

func (l Load) someKeys(r *rand.Rand, name string) []string {
	keys := make([]string, max(l.Together, 1))
	for i := range keys {
		keys[i] = l.Keys[r.IntN(len(l.Keys))]
		if l.Apart {
			keys[i] += name
		}
	}
	return keys
}

// upTo draws a duration, a short one more often than a long one.
func upTo(r *rand.Rand, most time.Duration) time.Duration {
	x := r.Float64()
	return time.Duration(float64(most) * x * x * x)
}

// options are the lock's.
func (l Load) options(e errand) []cache.LockOption {
	strategy := l.Strategy
	if strategy == "" {
		strategy = "exclusive"
	}
	opts := []cache.LockOption{cache.LockStrategy(strategy)}
	if strategy != "exclusive" {
		return append(opts, cache.LockTimeout(l.Lease))
	}
	opts = append(opts, cache.LockLease(l.Lease))
	if e.wait >= 0 {
		opts = append(opts, cache.LockWait(e.wait))
	}
	return opts
}
