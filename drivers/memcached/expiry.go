package memcached

import (
	"math"
	"time"
)

// How the server understands an expiry: up to relativeLimit it is seconds from
// now, above it Unix time. Its clock ticks once a second, so that an item may
// leave up to a second early, and a busy server's clock lags; its idea of Unix
// time is as good as its machine's clock was when it started.
const (
	relativeLimit = 30 * 24 * 60 * 60
	tickMargin    = 2
	clockMargin   = 24 * 60 * 60

	// gone is an expiry in the past: to swap an item for one with it is to
	// remove it atomically.
	gone int32 = -1
)

// expiration is what the server is told of a deadline: a bound that surely
// lies behind it, or 0, which is none, where the protocol has no such number.
// The header decides in any case.
func expiration(deadline int64, now time.Time) int32 {
	if deadline == 0 {
		return 0
	}
	left := max((deadline-now.UnixMilli()+999)/1000, 0) + tickMargin
	if left <= relativeLimit {
		return int32(left)
	}
	if at := (deadline+999)/1000 + clockMargin; at <= math.MaxInt32 {
		return int32(at)
	}
	return 0
}
