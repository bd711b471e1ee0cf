// Package slow is a driver for measuring what happens when a driver doesn't keep
// up.
package slow

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

const (
	// Stalled is a key whose read never ends by itself.
	Stalled = "stalled"
	// Slow is a key whose read takes Pause.
	Slow = "slow"
	// Pause is how long.
	Pause = time.Millisecond
)

// Driver has a value under every key and never stores anything.
var Driver = sdk.Define("slow", "0.1.0", func(context.Context, struct{}) (store, error) { return store{}, nil })

type store struct{}

var value = []byte("value")

func (store) Get(ctx context.Context, key string) ([]byte, bool, error) {
	switch key {
	case Stalled:
		<-ctx.Done()
		return nil, false, ctx.Err()
	case Slow:
		time.Sleep(Pause)
	}
	return value, true, nil
}

func (store) Set(context.Context, string, []byte, time.Duration) error { return nil }
func (store) Delete(context.Context, string) (bool, error)             { return false, nil }
func (store) Close() error                                             { return nil }
