package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5/pgconn"
)

// errRefused is for servers and tables that can't keep the store's promises.
var errRefused = errors.New("the database can't carry this store")

// unreachable is the error of a call that got no connection: nothing was
// applied.
func unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("no connection to the database became ready: %w", ctx.Err())
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == "53300" {
		return fmt.Errorf("%w: %w: the server has no connection left (SQLSTATE 53300): raise max_connections there, or lower the option of that name here",
			sdk.ErrUnavailable, sdk.ErrOverloaded)
	}
	return fmt.Errorf("%w: %w", sdk.ErrUnavailable, unfolded{err})
}

// late names the server that had not answered when the caller's time was up.
func (s *store) late(ended error) error {
	if !errors.Is(ended, context.DeadlineExceeded) {
		return ended
	}
	at := s.settings.pool.ConnConfig
	return fmt.Errorf("%s: no answer while the call had time: %w", net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))), ended)
}

// unfolded is an error of pgx on one line, which says once what several attempts
// met. Its text names server, database and user, and no password.
type unfolded struct{ err error }

func (u unfolded) Error() string {
	var lines []string
	for line := range strings.Lines(u.err.Error()) {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}
func (u unfolded) Unwrap() error { return u.err }

// explain turns an error of pgx into one that says what to do. Of the server's
// own words it repeats the message and the code: details may hold a row.
func explain(err error) error {
	var answer *pgconn.PgError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, sdk.ErrUnavailable), errors.Is(err, errRefused):
		return err
	case !errors.As(err, &answer):
		return fmt.Errorf("%w: the connection to the database broke: %w", sdk.ErrUnavailable, err)
	}
	said := fmt.Errorf("the database says: %s (SQLSTATE %s)", answer.Message, answer.Code)
	if sentinel := sentinels[answer.Code]; sentinel != nil {
		return fmt.Errorf("%w: %w", sentinel, said)
	}
	if advice := advices[answer.Code]; advice != "" {
		return fmt.Errorf("%w; %s", said, advice)
	}
	return said
}

// sentinels are what some of the server's codes mean to callers.
var sentinels = map[string]error{
	"22021": sdk.ErrInvalidKey,  // a byte that text can't have
	"54000": sdk.ErrTooLarge,    // a limit of the program
	"57P01": sdk.ErrUnavailable, // the session was terminated
	"57P02": sdk.ErrUnavailable,
	"57P03": sdk.ErrUnavailable, // starting up, shutting down
	"57P05": sdk.ErrUnavailable, // rested too long
	"08P01": sdk.ErrUnavailable, // a pooler lost the server
	"53100": sdk.ErrUnavailable, // disk full
	"53200": sdk.ErrOverloaded,  // memory
	"53300": sdk.ErrOverloaded,
}

var advices = map[string]string{
	"25006": "it takes no writes: dsn must lead to the primary, see target_session_attrs=read-write",
	"26000": "a transaction pooler seems to stand in between: set pooler: transaction",
	"42P05": "a transaction pooler seems to stand in between: set pooler: transaction",
	"3F000": "create the schema, or name another one in table and lock_table",
	"42501": "grant the role of dsn what docs/database.md lists, or create the tables as it shows",
	"42P01": "a table of the store is gone; create it as docs/database.md shows, or open the store anew",
	"57014": "a statement_timeout of the role or the database is shorter than the store's timeout",
	"55P03": "a lock_timeout of the role or the database is shorter than the store's timeout",
}
