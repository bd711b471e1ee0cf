// Package lockwatch lets a test see until when the holder of an exclusive lock
// believes to hold it. The way in is the context of Do, so that core's API says
// nothing of it.
package lockwatch

import (
	"context"
	"time"
)

// A Func hears of the holder's deadline on the boot clock.
type Func func(physicalKey string, deadline time.Duration)

type key struct{}

// With makes every Do under the returned context call f when it enters, after
// every renewal, and when the holder has been told of a loss, with the time
// of that.
func With(ctx context.Context, f Func) context.Context {
	return context.WithValue(ctx, key{}, f)
}

// From returns With's function, or one that does nothing.
func From(ctx context.Context) Func {
	if f, ok := ctx.Value(key{}).(Func); ok {
		return f
	}
	return func(string, time.Duration) {}
}
