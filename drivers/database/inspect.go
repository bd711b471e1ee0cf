package database

import (
	"context"
	"math"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// TTL implements sdk.Inspector.
func (s *store) TTL(ctx context.Context, key string) (ttl time.Duration, ok bool, err error) {
	var left pgtype.Interval
	err = s.do(ctx, reads, func(conn *pgx.Conn) error {
		return found(conn.QueryRow(ctx, s.sql.ttl, key).Scan(&left), &ok)
	})
	if !ok || err != nil || !left.Valid {
		return sdk.NoExpiry, ok && err == nil, err
	}
	return max(duration(left), time.Millisecond), true, nil
}

// Touch implements sdk.Inspector.
func (s *store) Touch(ctx context.Context, key string, ttl time.Duration) (touched bool, err error) {
	return s.exec(ctx, repeatable, s.sql.touch, key, lifetime(ttl))
}

// longestDays is the most that a duration counts.
const longestDays = int32(math.MaxInt64 / (24 * time.Hour))

// duration reads a difference of two times, rounded up to a millisecond. The
// server counts its days apart, and has more of them.
func duration(i pgtype.Interval) time.Duration {
	if i.Days >= longestDays {
		return math.MaxInt64 / time.Millisecond * time.Millisecond
	}
	d := time.Duration(i.Days)*24*time.Hour + time.Duration(i.Microseconds)*time.Microsecond
	return (d + time.Millisecond - 1) / time.Millisecond * time.Millisecond
}
