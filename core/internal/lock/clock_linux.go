package lock

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootElapsed is the clock of leases: it runs through suspend and nobody sets
// it.
func BootElapsed() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return WallElapsed()
	}
	return time.Duration(now.Nano())
}
