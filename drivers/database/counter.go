package database

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
)

// Increment implements sdk.Counter. One statement counts; another one looks
// for the reason if it did not.
func (s *store) Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (int64, error) {
	for {
		sum, counted, err := s.count(ctx, key, delta, initialTTL)
		if counted || err != nil {
			return sum, err
		}
		value, ok, err := s.Get(ctx, key)
		if err != nil {
			return 0, err
		}
		if !ok {
			continue // it has gone meanwhile
		}
		if _, err := sdk.AddInteger(value, delta); err != nil {
			return 0, err
		}
	}
}

func (s *store) count(ctx context.Context, key string, delta int64, initialTTL time.Duration) (sum int64, counted bool, err error) {
	var text []byte
	err = s.do(ctx, once, func(conn *pgx.Conn) error {
		return found(conn.QueryRow(ctx, s.sql.increment, key, delta, lifetime(initialTTL)).Scan(&text), &counted)
	})
	if !counted || err != nil {
		return 0, false, err
	}
	sum, _ = sdk.ParseInteger(text)
	return sum, true, nil
}
