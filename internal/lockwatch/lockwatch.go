// Package lockwatch lets a test see until when the holder of an exclusive lock
// believes to hold it. The way in is the context of Do, so that core's API says
// nothing of it.
package lockwatch

import (
	"context"
	"time"
)

type key struct{}

// With makes a Do under the returned context call f with the holder's deadline
// on the boot clock: when it enters, and after every renewal.
func With(ctx context.Context, f func(deadline time.Duration)) context.Context {
	return context.WithValue(ctx, key{}, f)
}

// From returns With's function, or one that does nothing.
func From(ctx context.Context) func(deadline time.Duration) {
	if f, ok := ctx.Value(key{}).(func(time.Duration)); ok {
		return f
	}
	return func(time.Duration) {}
}
