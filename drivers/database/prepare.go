package database

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// oldestServer is server_version_num of the oldest PostgreSQL that has what
// the statements need.
const oldestServer = 130000

// prepare makes sure that server and tables can keep the store's promises,
// creates tables that are missing, and starts sweeping. It is run until it
// succeeds once.
func (s *store) prepare(ctx context.Context) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer conn.Release()
	if err := checkServer(ctx, conn.Conn()); err != nil {
		return err
	}
	if err := s.checkTables(ctx, conn.Conn()); err != nil {
		return err
	}
	s.work.Go(s.sweep)
	return nil
}

// checkServer asks for the version alone at first, in the simplest way: what
// is not PostgreSQL may not understand the rest.
func checkServer(ctx context.Context, conn *pgx.Conn) error {
	var version string
	err := conn.QueryRow(ctx, `SELECT version()`, pgx.QueryExecModeSimpleProtocol).Scan(&version)
	if err != nil {
		return explain(err)
	}
	if strings.Contains(version, "Redshift") {
		return fmt.Errorf("%w: the server is Amazon Redshift, whose unique constraints are not enforced: entries and locks could double", errRefused)
	}
	var number int
	var encoding string
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding')`,
		pgx.QueryExecModeSimpleProtocol).Scan(&number, &encoding)
	switch {
	case err != nil:
		return explain(err)
	case number < oldestServer:
		return fmt.Errorf("%w: the server is %s; PostgreSQL 13 or later is needed", errRefused, firstWords(version))
	case encoding != "UTF8":
		return fmt.Errorf("%w: the database has the encoding %s; keys need one with UTF8", errRefused, encoding)
	}
	return nil
}

// firstWords cuts "PostgreSQL 15.4 on x86_64…" short.
func firstWords(version string) string {
	words := strings.Fields(version)
	return strings.Join(words[:min(len(words), 2)], " ")
}
