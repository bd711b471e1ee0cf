package database

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// An effect says what it means to run a statement again when nobody knows
// whether it has run.
type effect int

const (
	reads      effect = iota // nothing happens
	repeatable               // the same happens again
	once                     // it could happen twice, so it is not repeated
)

// A fate is what became of a statement.
type fate int

const (
	done    fate = iota
	refused      // the server said no; nothing was applied
	undone       // a conflict: nothing was applied, and it may be repeated
	unsent       // nothing reached the server
	unknown      // it was sent, and the answer was lost
)

const (
	// mostBroken is how often a call may meet a broken connection: as often as
	// a pool of dead ones gives out another, and a little more.
	mostBroken = 3
	// mostConflicts bounds the repeats of a call that has no deadline.
	mostConflicts = 50
	longestPause  = 100 * time.Millisecond
)

// do runs statements on a connection of the pool, and again where that is
// permitted: conflicts always, lost connections unless the effect is once. When
// the fate of a write is unknown, the error matches sdk.ErrMaybeApplied.
//
// What run fails with comes from pgx: a result that is an error of its own it
// keeps for its caller.
func (s *store) do(ctx context.Context, e effect, run func(*pgx.Conn) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.attempts(ctx, e, run)
}

func (s *store) attempts(ctx context.Context, e effect, run func(*pgx.Conn) error) error {
	open := false // a lost attempt may have been applied
	broken, conflicts := 0, 0
	for {
		f, err := s.attempt(ctx, run)
		open = open || f == unknown && e != reads
		switch {
		case f == done:
			return nil
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return maybe(open, err)
		case ctx.Err() != nil:
			return maybe(open, s.late(ctx.Err()))
		case f == undone && (conflicts < mostConflicts || hasDeadline(ctx)):
			conflicts++
			if err := pause(ctx, conflicts); err != nil {
				return maybe(open, err)
			}
		case (f == unsent || f == unknown && e != once) && !isConnect(err) && broken < mostBroken+int(s.settings.pool.MaxConns):
			broken++
		default:
			return maybe(open, explain(err))
		}
	}
}

// attempt runs statements once.
func (s *store) attempt(ctx context.Context, run func(*pgx.Conn) error) (fate, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return unsent, unreachable(ctx, err)
	}
	defer conn.Release()
	err = run(conn.Conn())
	if isReadOnly(err) {
		// The next connection may lead to the primary.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Conn().Close(ctx)
	}
	return fateOf(err), err
}

// fateOf judges the error of a statement. A server that ends the session with
// its answer may have done so after the commit.
func fateOf(err error) fate {
	var answer *pgconn.PgError
	switch {
	case err == nil:
		return done
	case pgconn.SafeToRetry(err):
		return unsent
	case !errors.As(err, &answer):
		return unknown
	case answer.SeverityUnlocalized != "ERROR" && answer.Severity != "ERROR", strings.HasPrefix(answer.Code, "08"):
		return unknown
	case isConflict(answer):
		return undone
	}
	return refused
}

// isConflict is for errors that another attempt may not meet.
func isConflict(answer *pgconn.PgError) bool {
	switch answer.Code {
	case "40001", "40P01": // serialization failure, deadlock victim
		return true
	case "0A000": // the statement was prepared before its table was changed
		return answer.Routine == "RevalidateCachedQuery"
	}
	return false
}

func isReadOnly(err error) bool { return saidCode(err) == "25006" }

// isLocked is for a lock that was waited for in vain.
func isLocked(err error) bool { return saidCode(err) == "55P03" }

// saidCode is the SQLSTATE that the server answered with.
func saidCode(err error) string {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return ""
	}
	return answer.Code
}

func isConnect(err error) bool { return errors.Is(err, sdk.ErrUnavailable) }

func hasDeadline(ctx context.Context) bool {
	_, ok := ctx.Deadline()
	return ok
}

// pause lets the others of a conflict end first.
func pause(ctx context.Context, conflicts int) error {
	limit := min(time.Millisecond<<min(conflicts, 10), longestPause)
	timer := time.NewTimer(rand.N(limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maybe marks the error of a write that may have been applied.
func maybe(open bool, err error) error {
	if !open {
		return err
	}
	return fmt.Errorf("%w: %w", sdk.ErrMaybeApplied, err)
}
