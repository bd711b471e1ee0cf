package database

import (
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

func TestADifferenceOfTimesIsADurationUpToTheLongest(t *testing.T) {
	t.Parallel()
	const day, longest = 24 * time.Hour, math.MaxInt64 / time.Millisecond * time.Millisecond
	for _, tc := range []struct {
		days         int32
		microseconds int64
		want         time.Duration
	}{
		{0, 1, time.Millisecond},
		{0, 1000, time.Millisecond},
		{2, 1001, 2*day + 2*time.Millisecond},
		{106751, time.Hour.Microseconds(), 106751*day + time.Hour},
		{106751, (23*time.Hour + 50*time.Minute).Microseconds(), longest},
		{106752, 0, longest},
		{math.MaxInt32, day.Microseconds() - 1, longest},
	} {
		got := duration(pgtype.Interval{Days: tc.days, Microseconds: tc.microseconds, Valid: true})
		if got != tc.want {
			t.Errorf("%d days and %d µs are %v; want %v", tc.days, tc.microseconds, got, tc.want)
		}
	}
}
