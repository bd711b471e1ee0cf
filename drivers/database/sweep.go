package database

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

const (
	// sweepBatch is how many rows one statement of a sweep removes: few enough
	// that nobody waits for it.
	sweepBatch   = 1_000
	sweepTimeout = time.Minute // of one statement
)

// sweep removes expired rows until the store ends. Any number of stores may
// sweep one table: each skips what another has locked. What fails is tried
// again in the next round.
func (s *store) sweep() {
	if s.sweepEvery == 0 {
		return
	}
	for {
		// Stores that were started together don't sweep together.
		timer := time.NewTimer(s.sweepEvery/2 + rand.N(s.sweepEvery))
		select {
		case <-timer.C:
		case <-s.life.Done():
			timer.Stop()
			return
		}
		s.sweepTable(s.life, s.sql.sweepEntries)
		s.sweepTable(s.life, s.sql.sweepLocks)
	}
}

// sweepTable removes what has expired from a table, and returns how much. It
// goes by the time of expiry, so that no batch has to pass the remains of those
// before it.
func (s *store) sweepTable(ctx context.Context, sql string) (removed int, err error) {
	from := pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	for {
		n, last, err := s.sweepSome(ctx, sql, from)
		removed += n
		if err != nil || n < sweepBatch {
			return removed, err
		}
		from = last
	}
}

func (s *store) sweepSome(ctx context.Context, sql string, from pgtype.Timestamptz) (n int, last pgtype.Timestamptz, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	err = s.do(ctx, repeatable, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, sql, planned, from, sweepBatch).Scan(&n, &last)
	})
	return n, last, err
}
