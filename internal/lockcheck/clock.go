package lockcheck

import (
	"runtime"
	"time"

	"github.com/cachewright/cachewright/internal/bootclock"
)

// oneClock says whether the boot clock is the same for all processes. Where it
// is not, what a process tells is moved to the wall clock.
const oneClock = runtime.GOOS == "linux"

// now is the clock of histories.
func now() time.Duration {
	if oneClock {
		return bootclock.Now()
	}
	return time.Duration(time.Now().UnixNano())
}

// moved is the event on the clock of histories, if its own runs behind by d.
func (e event) moved(d time.Duration) event {
	for _, t := range []*time.Duration{&e.At, &e.Asked, &e.Tried, &e.Until} {
		if *t != 0 {
			*t += d
		}
	}
	return e
}
