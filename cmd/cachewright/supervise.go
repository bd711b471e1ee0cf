//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/term"
)

// supervise runs cmd to its end and returns its exit code. Signals to this
// program go on to it from the call of begin on, which refuses if there was one
// before. A lock that is lost stops it, by TERM and then KILL.
func supervise(ctx context.Context, cmd *exec.Cmd, begin func() error) (code int, err error) {
	runtime.LockOSThread() // a death signal comes from the thread that started the command
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	if err := begin(); err != nil {
		return 0, err
	}
	onTerminal := term.IsTerminal(int(os.Stdin.Fd()))
	cmd.SysProcAttr = processAttributes(!onTerminal)
	if err := cmd.Start(); err != nil {
		return 0, startError(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	child := command{cmd.Process.Pid, !onTerminal}
	stopped := ctx.Done() // nil once the lock is lost
	var kill <-chan time.Time
	for {
		select {
		case err := <-done:
			if stopped == nil && child.group {
				child.awaitGroup(kill)
			}
			return exitCodeOf(err)
		case s := <-signals:
			if !onTerminal || !fromTerminal(s) {
				child.signal(s.(syscall.Signal))
			}
		case <-stopped:
			stopped = nil
			child.signal(syscall.SIGTERM)
			kill = time.After(killAfter)
		case <-kill:
			child.signal(syscall.SIGKILL)
		}
	}
}

var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// fromTerminal tells signals that a terminal sends to the command itself too.
func fromTerminal(s os.Signal) bool { return s == syscall.SIGINT || s == syscall.SIGQUIT }

// A command is a running child, with its whole group where it leads one.
type command struct {
	pid   int
	group bool
}

func (c command) signal(s syscall.Signal) {
	pid := c.pid
	if c.group {
		pid = -pid
	}
	_ = syscall.Kill(pid, s) // it may just have ended
}

// awaitGroup lets what the command started end by itself too, until kill; then
// it is killed. Nothing of it goes on beside the next holder of the lock.
func (c command) awaitGroup(kill <-chan time.Time) {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for syscall.Kill(-c.pid, 0) == nil {
		select {
		case <-kill:
			c.signal(syscall.SIGKILL)
			return
		case <-look.C:
		}
	}
}

// exitCodeOf is the command's own code, or 128 and the signal that ended it.
func exitCodeOf(err error) (int, error) {
	var ended *exec.ExitError
	if err == nil || !errors.As(err, &ended) {
		return 0, err
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return ended.ExitCode(), nil
}

// startError gives a command that can't be run the code that a shell gives it.
func startError(err error) error {
	code := 126
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = 127
	}
	return exit{code, fmt.Errorf("run the command: %w", err)}
}
