//go:build unix && !linux

package main

import "syscall"

func processAttributes(group bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: group}
}
