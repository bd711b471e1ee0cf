package sdk

import (
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxProcessName is what the system keeps of a process's name, in bytes.
const maxProcessName = 15

// nameProcess gives the process a name in ps and top, where the executable's
// own says nothing: a built-in driver has the host's.
func nameProcess(driver string) {
	name := "cachewright-" + driver
	os.WriteFile("/proc/self/comm", []byte(name[:min(len(name), maxProcessName)]), 0)
}

// shieldDescriptors keeps descriptors that this process inherited from those
// that it starts.
func shieldDescriptors() {
	if unix.CloseRange(firstFreeDescriptor, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, err := os.ReadDir("/proc/self/fd") // Linux before 5.11
	if err != nil {
		return
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= firstFreeDescriptor {
			unix.CloseOnExec(fd)
		}
	}
}
