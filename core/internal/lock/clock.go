package lock

import "time"

var started = time.Now()

// WallElapsed is a clock that runs through suspend because the wall clock does.
// A wall clock that is set forward makes it jump, which ends leases early and
// never late; set back, it goes on by the monotonic one.
func WallElapsed() time.Duration {
	now := time.Now()
	return max(now.Sub(started), now.Round(0).Sub(started.Round(0)))
}
