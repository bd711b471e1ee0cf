// Package inproc lets a manager open drivers inside its own process, for tests:
// fake time can't cross a socket, and a recording driver has to be looked at.
// The way in is the context of core.Open, so that core's API says nothing of it.
package inproc

import (
	"context"

	"github.com/cachewright/cachewright/sdk"
)

type key struct{}

// With makes a manager that is opened under the returned context open the
// stores of these drivers, by their name in the configuration, in this process.
func With(ctx context.Context, drivers map[string]sdk.Driver) context.Context {
	return context.WithValue(ctx, key{}, drivers)
}

// From returns the drivers of With.
func From(ctx context.Context) map[string]sdk.Driver {
	drivers, _ := ctx.Value(key{}).(map[string]sdk.Driver)
	return drivers
}
