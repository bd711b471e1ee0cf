package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// by chooses the form of a statement for the clock that judges r, and appends
// the driver's time of day to its parameters where that is the one.
func (s *store) by(r sdk.LeaseRequest, sql leaseSQL, args ...any) (string, []any) {
	args = append([]any{r.Key, r.Strategy, r.Owner}, args...)
	if r.Clock != sdk.DriverClock {
		return sql.server, args
	}
	return sql.driver, append(args, s.now())
}

// AcquireLease implements sdk.Leaser. The refusal of a lease that another owner
// holds changes nothing.
func (s *store) AcquireLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return s.grant(ctx, r, s.sql.acquire, leaseTime(r), r.Strategy != sdk.StrategyLease)
}

// RenewLease implements sdk.LeaseRenewer. A renewal keeps the fence.
func (s *store) RenewLease(ctx context.Context, r sdk.LeaseRequest) (sdk.LeaseGrant, error) {
	return s.grant(ctx, r, s.sql.renew, leaseTime(r))
}

// grant runs a statement that answers with the fence of the lease that the
// owner has now, or else with the time that another owner's has left.
func (s *store) grant(ctx context.Context, r sdk.LeaseRequest, statement leaseSQL, args ...any) (sdk.LeaseGrant, error) {
	var fence pgtype.Int8
	var other pgtype.Interval
	var answered error
	err := s.do(ctx, repeatable, func(conn *pgx.Conn) error {
		sql, args := s.by(r, statement, args...)
		answered = conn.QueryRow(ctx, sql, args...).Scan(&fence, &other)
		return answered
	})
	switch {
	case err != nil && outOfRange(answered):
		return sdk.LeaseGrant{}, s.foreign(r, "has the highest fence that there is, and the next one must be higher")
	case err == nil && endless(other):
		return sdk.LeaseGrant{}, s.foreign(r, "never expires")
	case err != nil:
		return sdk.LeaseGrant{}, err
	case fence.Valid:
		return sdk.LeaseGrant{OK: true, Fence: uint64(fence.Int64), Remaining: r.Lease}, nil
	case other.Valid:
		return sdk.LeaseGrant{Remaining: max(duration(other), 0)}, nil
	}
	return sdk.LeaseGrant{}, nil
}

// ReleaseLease implements sdk.Leaser. Waiters of a lock with a fence hear of
// its release; for others they ask.
func (s *store) ReleaseLease(ctx context.Context, r sdk.LeaseRequest) (released bool, err error) {
	attempts := 0
	err = s.do(ctx, repeatable, func(conn *pgx.Conn) error {
		attempts++
		sql, args := s.by(r, s.sql.release)
		err := conn.QueryRow(ctx, sql, args...).Scan(&released)
		if err != nil || released || attempts == 1 {
			return err
		}
		// An attempt whose answer was lost may have released it.
		return conn.QueryRow(ctx, s.sql.wasReleased, r.Key, r.Strategy, r.Owner).Scan(&released)
	})
	if err != nil {
		return false, err
	}
	if released && r.Strategy != sdk.StrategyLease {
		s.waits.freed(lockOf(r))
	}
	return released, nil
}

// foreign is the error of a row that no driver wrote. Nobody but its owner
// mends it, and to wait for it would have no end.
func (s *store) foreign(r sdk.LeaseRequest, what string) error {
	return fmt.Errorf("%w: its row of strategy %s in the lock table %s %s; once nobody is in the lock, delete that row",
		sdk.ErrCorrupt, r.Strategy, s.locks, what)
}

// endless tells a lease without an end, see leftSQL.
func endless(left pgtype.Interval) bool { return left.Valid && left.Months != 0 }

// outOfRange is what the server says of a fence above the highest.
func outOfRange(err error) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && answer.Code == "22003"
}

func leaseTime(r sdk.LeaseRequest) pgtype.Interval {
	return pgtype.Interval{Microseconds: micros(r.Lease), Valid: true}
}

// remaining is how long r's owner has to wait at most; 0 for a lock that is
// free.
func (s *store) remaining(ctx context.Context, r sdk.LeaseRequest) (time.Duration, error) {
	var left pgtype.Interval
	var held bool
	err := s.do(ctx, reads, func(conn *pgx.Conn) error {
		sql, args := s.by(r, s.sql.waiting)
		return found(conn.QueryRow(ctx, sql, args...).Scan(&left), &held)
	})
	switch {
	case !held || err != nil:
		return 0, err
	case endless(left):
		return 0, s.foreign(r, "never expires")
	}
	return duration(left), nil
}
