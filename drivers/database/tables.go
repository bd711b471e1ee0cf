package database

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A tableKind is what a table has to be, and how it is made.
type tableKind struct {
	option  string   // where it is named
	columns []string // as tableSQL spells them
	unique  []string // the constraint that must be enforced, sorted
	create  []string
}

var entriesKind = tableKind{
	option:  "table",
	columns: []string{`key text COLLATE "C"`, "value bytea", "expiry timestamp with time zone"},
	unique:  []string{"key"},
	create: []string{
		`CREATE {persistence} TABLE {name} (
	key    text COLLATE "C" NOT NULL PRIMARY KEY,
	value  bytea NOT NULL,
	expiry timestamptz
) WITH (
	fillfactor = 90,
	autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1,
	toast.autovacuum_vacuum_scale_factor = 0.02
)`,
		`CREATE INDEX ON {name} (expiry) WHERE expiry IS NOT NULL`,
	},
}

var locksKind = tableKind{
	option: "lock_table",
	columns: []string{
		`key text COLLATE "C"`, `strategy text COLLATE "C"`, `owner text COLLATE "C"`, "expiry timestamp with time zone", "fence bigint",
	},
	unique: []string{"key", "strategy"},
	create: []string{
		`CREATE TABLE {name} (
	key      text COLLATE "C" NOT NULL,
	strategy text COLLATE "C" NOT NULL,
	owner    text COLLATE "C" NOT NULL,
	expiry   timestamptz NOT NULL,
	fence    bigint NOT NULL,
	PRIMARY KEY (key, strategy)
) WITH (
	fillfactor = 50,
	autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500
)`,
		`CREATE INDEX ON {name} (expiry)`,
	},
}

// creationLock is the advisory lock that whoever creates tables holds.
const creationLock int64 = 0x63616368657772 // "cachewr"

// tableSQL describes the table that a name leads to; no row if there is none.
const tableSQL = `
SELECT c.oid, n.nspname || '.' || c.relname, c.relkind::text, c.relpersistence::text,
	array(SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod) ||
			CASE WHEN l.collname = 'C' OR l.collname = 'POSIX' THEN ' COLLATE "C"' ELSE '' END
		FROM pg_attribute AS a LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
		WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
	EXISTS (SELECT FROM pg_index AS i
		WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indisready AND i.indimmediate
			AND i.indpred IS NULL AND i.indexprs IS NULL
			AND $2::text[] = array(SELECT a.attname::text FROM pg_attribute AS a
				WHERE a.attrelid = c.oid AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1]) ORDER BY a.attname::text COLLATE "C"))
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = to_regclass($1)`

// A table is one as it was found.
type table struct {
	oid         uint32
	full        string // schema and name, as the server resolved them
	kind        string
	persistence string
	columns     []string
	unique      bool
}

// checkTables refuses tables that can't keep the promises, and creates those
// that are missing.
func (s *store) checkTables(ctx context.Context, conn *pgx.Conn) error {
	entries, err := s.table(ctx, conn, s.settings.table, entriesKind)
	if err != nil {
		return err
	}
	locks, err := s.table(ctx, conn, s.settings.locks, locksKind)
	if err != nil {
		return err
	}
	if locks.persistence != "p" {
		return fmt.Errorf("%w: the lock table %s is UNLOGGED or temporary, so that a crash of the server would free every lock; ALTER TABLE … SET LOGGED", errRefused, s.locks)
	}
	if entries.oid == locks.oid {
		return fmt.Errorf("%w: %s and %s are the same table", errRefused, s.settings.table, s.locks)
	}
	s.waits.channel = channelOf(locks.full)
	return nil
}

// table finds or creates one, and checks it.
func (s *store) table(ctx context.Context, conn *pgx.Conn, name tableName, kind tableKind) (table, error) {
	found, ok, err := s.find(ctx, conn, name, kind)
	if err == nil && !ok {
		if err = s.createTable(ctx, conn, name, kind); err == nil {
			found, ok, err = s.find(ctx, conn, name, kind)
		}
	}
	switch {
	case err != nil:
		return found, err
	case !ok:
		return found, fmt.Errorf("%w: the table %s was dropped while the store was opening", errRefused, name)
	}
	return found, found.fits(name, kind)
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (s *store) find(ctx context.Context, conn querier, name tableName, kind tableKind) (t table, ok bool, err error) {
	err = conn.QueryRow(ctx, s.sql.table, string(name), kind.unique).
		Scan(&t.oid, &t.full, &t.kind, &t.persistence, &t.columns, &t.unique)
	if errors.Is(err, pgx.ErrNoRows) {
		return t, false, nil
	}
	if err != nil {
		return t, false, fmt.Errorf("look at the table %s: %w", name, explain(err))
	}
	return t, true, nil
}

// createTable makes a table, unless somebody else does so first.
func (s *store) createTable(ctx context.Context, conn *pgx.Conn, name tableName, kind tableKind) error {
	if !s.create {
		return fmt.Errorf("%w: the table %s doesn't exist, and create_tables is off; docs/database.md has the statements", errRefused, name)
	}
	persistence := ""
	if s.unlogged && kind.option == "table" {
		persistence = "UNLOGGED"
	}
	fill := strings.NewReplacer("{name}", string(name), "{persistence} ", strings.TrimPrefix(persistence+" ", " "))
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, creationLock); err != nil {
			return err
		}
		if _, ok, err := s.find(ctx, tx, name, kind); ok || err != nil {
			return err
		}
		for _, statement := range kind.create {
			if _, err := tx.Exec(ctx, fill.Replace(statement)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !createdMeanwhile(err) {
		return fmt.Errorf("create the table %s: %w", name, explain(err))
	}
	return nil
}

// createdMeanwhile recognises somebody who creates the table without the
// advisory lock.
func createdMeanwhile(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && (refusal.Code == "42P07" || refusal.Code == "23505" && refusal.SchemaName == "pg_catalog")
}

// fits refuses a table of another shape.
func (t table) fits(name tableName, kind tableKind) error {
	for _, column := range kind.columns {
		if !slices.Contains(t.columns, column) {
			return fmt.Errorf("%w: the table %s has no column %s; it has %s: name another one as %s, or change it",
				errRefused, name, column, strings.Join(t.columns, ", "), kind.option)
		}
	}
	if t.kind != "r" && t.kind != "p" {
		return fmt.Errorf("%w: %s is no table", errRefused, name)
	}
	if !t.unique {
		columns := strings.Join(kind.unique, ", ")
		return fmt.Errorf("%w: the table %s has no unique index on (%s) that is enforced for every row at once, so entries and locks could double; "+
			"CREATE UNIQUE INDEX ON %s (%s)", errRefused, name, columns, name, columns)
	}
	return nil
}
