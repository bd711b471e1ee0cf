//go:build unix

package sdk

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// takeProcess makes this process a driver's, and returns the stdout that the
// host reads.
func takeProcess(name string) (stdout *os.File, err error) {
	// Notify and not Ignore, which programs that the driver starts would inherit.
	// With SIGPIPE in the list, a write to a stderr that nobody reads is an error
	// instead of the end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	nameProcess(name)
	shieldDescriptors()
	return takeStdout(), nil
}

// originalStdout is referred to for good: it would close descriptor 1 when it
// is collected.
var originalStdout *os.File

// takeStdout makes descriptor 1 another stderr, and returns what it was. Where
// the system refuses, os.Stdout does it for what is written in Go.
func takeStdout() *os.File {
	originalStdout, os.Stdout = os.Stdout, os.Stderr
	moved, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, firstFreeDescriptor)
	if err != nil {
		return originalStdout
	}
	if unix.Dup2(2, 1) != nil {
		unix.Close(moved)
		return originalStdout
	}
	return os.NewFile(uintptr(moved), "stdout")
}

// endGroup kills this process and all that it started, if it leads a process
// group: a host gives every driver one. Nobody else is left to do it.
func endGroup() {
	if unix.Getpgrp() == os.Getpid() {
		unix.Kill(0, unix.SIGKILL)
	}
}

// firstFreeDescriptor comes after the standard ones and the place of a fast
// plane.
const firstFreeDescriptor = 4
