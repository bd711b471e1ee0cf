package file

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// thisBoot names the boot of this machine that bootClock counts from; "" where
// nothing tells, and then the wall clock judges.
var thisBoot = readBootID()

func readBootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	var now unix.Timespec
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// bootClock runs evenly since the boot, through suspend too.
func bootClock() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // readBootID has tried
	return time.Duration(now.Nano())
}
