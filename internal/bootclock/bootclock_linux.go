package bootclock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time since the machine booted, the same for all its processes.
func Now() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return Wall()
	}
	return time.Duration(now.Nano())
}
