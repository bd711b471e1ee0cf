//go:build unix

package host

import (
	"errors"
	"syscall"
)

const supported = true

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // it fails when nobody is left

func isBusy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }
