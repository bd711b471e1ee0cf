package client

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Pgx is a pgx pool on the table of the database store, with the queries that
// somebody would write who has no cache.
type Pgx struct{ pool *pgxpool.Pool }

// NewPgx connects with as many connections as the store has by default.
func NewPgx(ctx context.Context, dsn string) (Pgx, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return Pgx{}, err
	}
	config.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(ctx, config)
	return Pgx{pool}, err
}

// Get reads a value.
func (c Pgx) Get(ctx context.Context, key string) (value []byte, err error) {
	const query = `SELECT value FROM cache WHERE key = $1 AND (expiry IS NULL OR expiry > clock_timestamp())`
	err = c.pool.QueryRow(ctx, query, key).Scan(&value)
	return value, err
}

// Set stores a value.
func (c Pgx) Set(ctx context.Context, key string, value []byte) error {
	const query = `INSERT INTO cache (key, value, expiry) VALUES ($1, $2, clock_timestamp() + $3::interval)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, expiry = excluded.expiry`
	_, err := c.pool.Exec(ctx, query, key, value, TTL)
	return err
}

// Analyze has the planner know the table.
func (c Pgx) Analyze(ctx context.Context) error {
	_, err := c.pool.Exec(ctx, `VACUUM ANALYZE cache`)
	return err
}

// Close ends the connections.
func (c Pgx) Close() { c.pool.Close() }
