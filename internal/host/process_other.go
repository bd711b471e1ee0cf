//go:build !unix

package host

import "syscall"

const supported = false

func groupLeader() *syscall.SysProcAttr { return nil }

func lockThread() (unlock func()) { return func() {} }

func awaitExit(int) {}

func killGroup(int) {}

func isBusy(error) bool { return false }
