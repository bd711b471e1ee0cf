package host

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupLeader puts a driver into a process group of its own, so that the
// terminal's signals miss it and its children end with it. The kernel kills it
// when the host dies, should it be too frozen to see its stdin end.
func groupLeader() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// lockThread keeps a goroutine on its thread: Pdeathsig speaks of the thread
// that started the process.
func lockThread() (unlock func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// awaitExit returns when the process has ended and before it is reaped.
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
