package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// An interruption is why a context ended that a signal ended.
type interruption struct{ signal syscall.Signal }

func (i interruption) Error() string        { return "ended by a signal: " + i.signal.String() }
func (i interruption) Is(target error) bool { return target == context.Canceled }

// code is what a shell makes of an end by that signal.
func (i interruption) code() int { return 128 + int(i.signal) }

// untilSignal is a context that the first of these signals ends, which is its
// cause. stop lets them be what they were before.
func untilSignal(ctx context.Context, signals ...os.Signal) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	heard, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(heard, signals...)
	go func() {
		defer close(done)
		select {
		case s := <-heard:
			cancel(interruption{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(heard)
		cancel(nil)
		<-done
	}
}
