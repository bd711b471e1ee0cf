// Package rig starts the servers that the contenders talk to.
package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// A bench is the testing.TB that package servertest wants, outside of a test: it
// keeps what is to be cleaned up, and ends the goroutine it runs on when
// something fails.
type bench struct {
	testing.TB // has the methods that nobody calls here
	cleanups   []func()
	err        error
}

// with runs set up code and returns what it failed with.
func (b *bench) with(setUp func(testing.TB)) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		setUp(b)
	}()
	<-done
	return b.err
}

// clean undoes what was set up, the last first.
func (b *bench) clean() error {
	for len(b.cleanups) > 0 {
		last := b.cleanups[len(b.cleanups)-1]
		b.cleanups = b.cleanups[:len(b.cleanups)-1]
		if err := b.with(func(testing.TB) { last() }); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) Helper()                  {}
func (b *bench) Name() string             { return "bench" }
func (b *bench) Cleanup(f func())         { b.cleanups = append(b.cleanups, f) }
func (b *bench) Context() context.Context { return context.Background() }
func (b *bench) Failed() bool             { return b.err != nil }

func (b *bench) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (b *bench) Errorf(format string, args ...any) {
	b.err = errors.Join(b.err, fmt.Errorf(format, args...))
}

func (b *bench) Fatalf(format string, args ...any) {
	b.Errorf(format, args...)
	runtime.Goexit()
}

func (b *bench) Fatal(args ...any) { b.Fatalf("%s", fmt.Sprint(args...)) }

// Skipf is a failure: without its servers there is nothing to measure.
func (b *bench) Skipf(format string, args ...any) { b.Fatalf(format, args...) }
