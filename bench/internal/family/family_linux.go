// Package family finds this process and all that descend from it, drivers and
// servers, and tells what they use.
package family

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Family is a set of processes, by their numbers.
type Family []int

// Of finds the family of this process, itself first.
func Of() Family {
	parents := make(map[int]int)
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			parents[pid] = parentOf(pid)
		}
	}
	self := os.Getpid()
	all := Family{self}
	for pid := range parents {
		for up := parents[pid]; up > 1; up = parents[up] {
			if up == self {
				all = append(all, pid)
				break
			}
		}
	}
	return all
}

// CPU is the processor time of the family so far. It is exact to the
// nanosecond, unlike the ticks in /proc; who has ended counts nothing.
func (f Family) CPU() time.Duration {
	var all time.Duration
	for _, pid := range f {
		var spent unix.Timespec
		if unix.ClockGettime(cpuClock(pid), &spent) == nil {
			all += time.Duration(spent.Nano())
		}
	}
	return all
}

// Memory is how many bytes of memory the family has resident. What processes
// share counts for each.
func (f Family) Memory() (bytes int64) {
	for _, pid := range f {
		var size, resident int64
		statm, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
		if _, err := fmt.Sscan(string(statm), &size, &resident); err == nil {
			bytes += resident * int64(os.Getpagesize())
		}
	}
	return bytes
}

// Children is the family without this process.
func (f Family) Children() Family { return f[1:] }

// cpuClock is the number of the clock that counts a process's processor time.
func cpuClock(pid int) int32 {
	const ofProcess = 2
	return int32(^pid<<3 | ofProcess)
}

// parentOf returns 0 for a process that is gone.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	line := string(stat) // its second field is a name in parentheses that may hold anything
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
