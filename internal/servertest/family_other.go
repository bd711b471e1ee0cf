//go:build unix && !linux

package servertest

import (
	"os/exec"
	"strconv"
	"strings"
)

// children returns the direct children of a process.
func children(pid int) []int {
	var found []int
	for _, line := range ps("-A", "-o", "pid=,ppid=") {
		fields := strings.Fields(line)
		if len(fields) == 2 && fields[1] == strconv.Itoa(pid) {
			child, _ := strconv.Atoi(fields[0])
			found = append(found, child)
		}
	}
	return found
}

// alive says whether a process exists and isn't merely waiting to be reaped.
func alive(pid int) bool {
	state := state(pid)
	return state != "" && state[0] != 'Z'
}

// stopped says whether a process stands still; one that is gone does.
func stopped(pid int) bool {
	state := state(pid)
	return state == "" || state[0] == 'T' || state[0] == 'Z'
}

func state(pid int) string {
	lines := ps("-o", "state=", "-p", strconv.Itoa(pid))
	return strings.TrimSpace(lines[0])
}

// ps returns at least one line.
func ps(args ...string) []string {
	out, _ := exec.Command("ps", args...).Output()
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
