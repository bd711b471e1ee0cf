// Package bootclock is the clock of leases: it runs through suspend, as leases
// do, and nobody sets it.
package bootclock

import "time"

var started = time.Now()

// Wall stands in for the boot clock: it runs through suspend because the wall
// clock does. A wall clock that is set forward makes it jump, which ends leases
// early and never late; set back, it goes on by the monotonic one. Under
// testing/synctest it is fake.
func Wall() time.Duration {
	now := time.Now()
	return max(now.Sub(started), now.Round(0).Sub(started.Round(0)))
}
