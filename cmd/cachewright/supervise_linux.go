package main

import "syscall"

// processAttributes end the command when this program is killed: it would go on
// without its lock.
func processAttributes(group bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: group, Pdeathsig: syscall.SIGTERM}
}
