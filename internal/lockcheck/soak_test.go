//go:build soak

package lockcheck

import (
	"testing"
	"time"
)

// A hundred thousand acquisitions of one lock while everything fails now and
// then, and as many of locks that nobody else wants.
func TestSoakExclusiveIsALock(t *testing.T) {
	const plenty = 100_000
	for name, start := range backends {
		t.Run(name, func(t *testing.T) {
			b := start(t)
			b.check(t, Run{Load: contended(), Acquisitions: plenty, Faults: b.all(), Calm: 5 * time.Second, Limit: 2 * time.Hour})
			b.check(t, Run{Load: together(), Acquisitions: plenty / 10, Faults: b.all(), Calm: 5 * time.Second, Limit: time.Hour})
			b.check(t, Run{Load: apart(), Acquisitions: plenty, Limit: time.Hour})
		})
	}
}
