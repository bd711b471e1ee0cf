package database

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

const (
	serverStatsSQL = `
SELECT current_setting('server_version'), pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
	clock_timestamp(), current_setting('autovacuum') = 'on'`

	// Index sizes and TOAST are part of the total. The statistics are the
	// server's own, some seconds old.
	tableStatsSQL = `
SELECT pg_total_relation_size(c.oid), greatest(c.reltuples, 0)::bigint, c.relpersistence = 'u',
	coalesce(s.n_dead_tup, 0), coalesce(s.n_live_tup, 0), greatest(s.last_vacuum, s.last_autovacuum),
	EXISTS (SELECT FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
		WHERE i.indrelid = c.oid AND i.indisvalid AND a.attname = 'expiry')
FROM pg_class AS c LEFT JOIN pg_stat_all_tables AS s ON s.relid = c.oid
WHERE c.oid = to_regclass($1)`

	overdueSQL = `SELECT count(*) FROM (SELECT FROM {cache} AS c WHERE c.expiry <= now() - interval '10 minutes' LIMIT 10000) AS late`

	// The oldest lock is the one with the smallest fence: a fence is about the
	// time of the acquisition, in microseconds.
	lockStatsSQL = `
SELECT count(*) FILTER (WHERE l.expiry > now()), count(*),
	clock_timestamp() - to_timestamp(min(nullif(l.fence, 0)) FILTER (WHERE l.expiry > now()) / 1000000.0)
FROM {locks} AS l`
)

// deadShare is the share of dead rows above which vacuum is too late, in a
// table of some size.
const (
	deadShare  = 0.5
	deadEnough = 10_000
)

// Ping implements sdk.Pinger.
func (s *store) Ping(ctx context.Context) error {
	return s.do(ctx, reads, func(conn *pgx.Conn) error { return conn.Ping(ctx) })
}

// Stats implements sdk.StatsReporter.
func (s *store) Stats(ctx context.Context) ([]sdk.Stat, error) {
	var stats []sdk.Stat
	err := s.do(ctx, reads, func(conn *pgx.Conn) error {
		stats = nil
		for _, part := range []func(context.Context, *pgx.Conn) ([]sdk.Stat, error){
			s.serverStats, s.entryStats, s.lockTableStats,
		} {
			some, err := part(ctx, conn)
			if err != nil {
				return err
			}
			stats = append(stats, some...)
		}
		return nil
	})
	return append(stats, s.ownStats()...), err
}

func (s *store) serverStats(ctx context.Context, conn *pgx.Conn) ([]sdk.Stat, error) {
	var version string
	var standby, readOnly, vacuums bool
	var clock time.Time
	if err := conn.Ping(ctx); err != nil { // so that no other work is measured
		return nil, err
	}
	start := time.Now()
	err := conn.QueryRow(ctx, serverStatsSQL).Scan(&version, &standby, &readOnly, &clock, &vacuums)
	if err != nil {
		return nil, err
	}
	latency := time.Since(start)
	ahead := clock.Sub(start.Add(latency / 2))
	return []sdk.Stat{
		{Name: "server.version", Value: version},
		{Name: "server.role", Value: role(standby), Warning: when(standby || readOnly, "it takes no writes; dsn must lead to the primary")},
		{Name: "server.latency", Value: latency.Round(time.Microsecond).String()},
		{Name: "server.clock", Value: fmt.Sprintf("%v ahead of this machine", ahead.Round(time.Millisecond)),
			Warning: when(ahead.Abs() > time.Second, "locks of the strategy lease go by the clocks of the machines: synchronise them")},
		{Name: "server.autovacuum", Value: strconv.FormatBool(vacuums), Warning: when(!vacuums, "the tables will grow without end: turn autovacuum on")},
	}, nil
}

func role(standby bool) string {
	if standby {
		return "standby"
	}
	return "primary"
}

func (s *store) entryStats(ctx context.Context, conn *pgx.Conn) ([]sdk.Stat, error) {
	stats, unlogged, err := s.tableStats(ctx, conn, "entries", s.settings.table)
	if err != nil {
		return nil, err
	}
	var late int
	if err := conn.QueryRow(ctx, s.sql.overdue).Scan(&late); err != nil {
		return nil, err
	}
	return append(stats,
		sdk.Stat{Name: "entries.unlogged", Value: strconv.FormatBool(unlogged),
			Warning: when(unlogged != s.unlogged, "the table was created otherwise than the option unlogged says; ALTER TABLE … SET LOGGED or SET UNLOGGED changes it")},
		sdk.Stat{Name: "entries.overdue", Value: atMost(late, 10_000),
			Warning: when(late > 0, "rows that expired over 10 minutes ago are still there: is sweep_interval 0s, or does the role lack DELETE?")},
	), nil
}

func (s *store) lockTableStats(ctx context.Context, conn *pgx.Conn) ([]sdk.Stat, error) {
	stats, _, err := s.tableStats(ctx, conn, "locks", s.locks)
	if err != nil {
		return nil, err
	}
	var held, all int
	var oldest pgtype.Interval
	if err := conn.QueryRow(ctx, s.sql.lockStats).Scan(&held, &all, &oldest); err != nil {
		return nil, err
	}
	stats = append(stats, sdk.Stat{Name: "locks.held", Value: strconv.Itoa(held)}, sdk.Stat{Name: "locks.remembered", Value: strconv.Itoa(all - held)})
	if oldest.Valid {
		stats = append(stats, sdk.Stat{Name: "locks.oldest", Value: duration(oldest).Round(time.Second).String(),
			Warning: when(duration(oldest) > time.Hour, "an exclusive lock has been held for over an hour")})
	}
	return stats, nil
}

func (s *store) tableStats(ctx context.Context, conn *pgx.Conn, name string, table tableName) (stats []sdk.Stat, unlogged bool, err error) {
	var size, planned, dead, live int64
	var vacuumed pgtype.Timestamptz
	var swept bool
	err = conn.QueryRow(ctx, s.sql.tableStats, string(table)).Scan(&size, &planned, &unlogged, &dead, &live, &vacuumed, &swept)
	if err != nil {
		return nil, false, err
	}
	last := "never"
	if vacuumed.Valid {
		last = vacuumed.Time.UTC().Format(time.RFC3339)
	}
	return []sdk.Stat{
		{Name: name + ".table", Value: string(table), Warning: when(!swept, "there is no index on expiry, so that every sweep reads the whole table; docs/database.md has it")},
		{Name: name + ".size", Value: sizeText(size)},
		{Name: name + ".rows", Value: strconv.FormatInt(max(planned, live), 10)},
		{Name: name + ".dead", Value: strconv.FormatInt(dead, 10),
			Warning: when(dead > deadEnough && float64(dead) > deadShare*float64(dead+live), "vacuum doesn't keep up: look for old transactions, or let autovacuum work harder on this table")},
		{Name: name + ".vacuumed", Value: last},
	}, unlogged, nil
}

// ownStats are the driver's own.
func (s *store) ownStats() []sdk.Stat {
	pool := s.pool.Stat()
	hears, _ := s.waits.state()
	return []sdk.Stat{
		{Name: "pool.connections", Value: fmt.Sprintf("%d of %d, %d in use", pool.TotalConns(), pool.MaxConns(), pool.AcquiredConns())},
		{Name: "waiters", Value: strconv.Itoa(s.waits.count())},
		{Name: "waiters.woken_by", Value: wokenBy(s.settings.listen != nil, hears)},
	}
}

func wokenBy(configured, hears bool) string {
	switch {
	case hears:
		return "notifications"
	case configured:
		return "notifications, once somebody waits"
	}
	return "polling: a transaction pooler passes no notifications on; listen_url can lead past it"
}

func when(applies bool, warning string) string {
	if !applies {
		return ""
	}
	return warning
}

func atMost(n, limit int) string {
	if n < limit {
		return strconv.Itoa(n)
	}
	return strconv.Itoa(limit) + " or more"
}

func sizeText(bytes int64) string {
	const mib = 1 << 20
	if bytes < mib {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/mib)
}
