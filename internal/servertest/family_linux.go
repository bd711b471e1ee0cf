package servertest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// children returns the direct children of a process.
func children(pid int) []int {
	var found []int
	for child, stat := range processes() {
		if stat.parent == pid && stat.state != 'Z' {
			found = append(found, child)
		}
	}
	return found
}

// alive says whether a process exists and isn't merely waiting to be reaped.
func alive(pid int) bool {
	stat, ok := readStat(pid)
	return ok && stat.state != 'Z' && stat.state != 'X'
}

// stopped says whether a process stands still; one that is gone does.
func stopped(pid int) bool {
	stat, ok := readStat(pid)
	return !ok || stat.state == 'T' || stat.state == 'Z'
}

type stat struct {
	state  byte
	parent int
}

func processes() map[int]stat {
	found := make(map[int]stat)
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		if s, ok := readStat(pid); ok {
			found[pid] = s
		}
	}
	return found
}

// readStat reads "PID (NAME) STATE PARENT …"; a name may hold anything.
func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return stat{}, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return stat{state: fields[0][0], parent: parent}, err == nil
}
