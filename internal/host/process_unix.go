//go:build unix

package host

import (
	"errors"
	"syscall"
)

const supported = true

// killGroup ends a driver's process group. Numbers below 2 would mean the
// host's own group, or everybody.
func killGroup(pid int) {
	if pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL) // it fails when nobody is left
	}
}

func isBusy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }
