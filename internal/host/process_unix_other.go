//go:build unix && !linux

package host

import "syscall"

// groupLeader puts a driver into a process group of its own, so that the
// terminal's signals miss it and its children end with it.
func groupLeader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func lockThread() (unlock func()) { return func() {} }

// awaitExit has nothing to wait with here; the reaping waits.
func awaitExit(int) {}
