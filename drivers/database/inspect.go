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

// duration reads a difference of two times, rounded up to a millisecond. The
// server counts its days apart, and has more of them than a duration.
func duration(i pgtype.Interval) time.Duration {
	const (
		day     = int64(24 * time.Hour / time.Millisecond)
		longest = math.MaxInt64 / int64(time.Millisecond)
	)
	left := int64(i.Days)*day + (i.Microseconds+999)/1000 // no count of days is too much for this
	return time.Duration(min(left, longest)) * time.Millisecond
}
