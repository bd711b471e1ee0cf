// Command cachewright reads, writes and watches the stores of a configuration.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/cachewright/cachewright/codecs/all"
	"github.com/cachewright/cachewright/drivers/builtin"
)

func main() {
	builtin.Main()
	ctx, stop := untilSignal(context.Background(), endings()...)
	// A reader that leaves early is a failed write like any other: a death by
	// SIGPIPE would leave temporary folders behind.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// endings are the signals that ask the program to end. Under nohup a hangup is
// none.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
