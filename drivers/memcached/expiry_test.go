package memcached

import (
	"math"
	"testing"
	"time"
)

const day = 24 * time.Hour

// now is a time whose deadlines the protocol can carry.
var now = time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)

func TestTheServerKeepsAnItemBeyondItsDeadline(t *testing.T) {
	t.Parallel()
	unix := int32(now.Unix())
	for _, test := range []struct {
		ttl  time.Duration
		want int32
	}{
		{time.Nanosecond, 3},
		{time.Millisecond, 3},
		{999 * time.Millisecond, 3},
		{time.Second, 4}, // the deadline is rounded up to the next ms
		{10 * time.Second, 13},
		{30*day - 4*time.Second, relativeLimit - 1},
		{30*day - 3*time.Second, relativeLimit},
		{30*day - 2*time.Second, unix + relativeLimit - 1 + clockMargin},
		{30*day - time.Second, unix + relativeLimit + clockMargin},
		{30 * day, unix + relativeLimit + 1 + clockMargin},
		{30*day + time.Second, unix + relativeLimit + 2 + clockMargin},
		{31 * day, unix + 31*86400 + 1 + clockMargin},
		{60 * day, unix + 60*86400 + 1 + clockMargin},
		{100 * 365 * day, 0},
		{math.MaxInt64, 0},
	} {
		if got := expiration(deadlineAfter(now, test.ttl), now); got != test.want {
			t.Errorf("%v: %d, want %d", test.ttl, got, test.want)
		}
	}
	if got := expiration(0, now); got != 0 {
		t.Errorf("no deadline: %d, want 0", got)
	}
	if got := expiration(now.UnixMilli()-1000, now); got != tickMargin {
		t.Errorf("a deadline that is over: %d, want %d", got, tickMargin)
	}
}

// The last moments before the protocol's numbers end.
func TestADeadlineAbove32BitsIsTheHeadersAlone(t *testing.T) {
	t.Parallel()
	at := time.Unix(math.MaxInt32-40*86400, 0)
	for _, test := range []struct {
		ttl  time.Duration
		want int32
	}{
		{39 * day, math.MaxInt32},
		{39*day + time.Second, 0},
		{29 * day, 29*86400 + tickMargin},
	} {
		if got := expiration(deadlineAfter(at, test.ttl), at); got != test.want {
			t.Errorf("%v: %d, want %d", test.ttl, got, test.want)
		}
	}
	late := time.Unix(math.MaxInt32+10, 0)
	if got := expiration(deadlineAfter(late, time.Hour), late); got != 3600+tickMargin {
		t.Errorf("an hour in 2038 is %d", got)
	}
}

func FuzzExpiration(f *testing.F) {
	f.Add(int64(0), int64(1))
	f.Add(now.UnixNano(), int64(30*day))
	f.Fuzz(func(t *testing.T, at, ttl int64) {
		if at < 0 || at > 1<<62 || ttl <= 0 {
			return
		}
		from := time.Unix(0, at)
		switch got := int64(expiration(deadlineAfter(from, time.Duration(ttl)), from)); {
		case got < 0:
			t.Errorf("negative: %d", got)
		case got == 0: // for ever
		case got <= relativeLimit && time.Duration(got)*time.Second < time.Duration(min(ttl, int64(40*day)))+time.Second:
			t.Errorf("%v get %d s", time.Duration(ttl), got)
		case got > relativeLimit && time.Unix(got, 0).Sub(from) < time.Duration(ttl)+day-time.Second:
			t.Errorf("%v get until %v", time.Duration(ttl), time.Unix(got, 0))
		}
	})
}
