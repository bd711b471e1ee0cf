package database

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// largest is the largest value that travels with others; a larger one would
// hold them up.
const largest = 32 << 10

// lifetime is a TTL as the statements take it: NULL lives for ever.
func lifetime(ttl time.Duration) pgtype.Interval {
	return pgtype.Interval{Microseconds: micros(ttl), Valid: ttl != 0}
}

// micros rounds up to the server's resolution.
func micros(d time.Duration) int64 {
	n := d.Microseconds()
	if time.Duration(n)*time.Microsecond < d {
		n++
	}
	return n
}

// Get implements sdk.Store.
func (s *store) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	if err := s.ready(ctx); err != nil {
		return nil, false, err
	}
	if s.gets.enter() {
		defer s.gets.exit()
		return s.getAlone(ctx, key)
	}
	c := &cargo{key: key}
	if err := s.gets.carry(ctx, c); err != nil {
		return nil, false, err
	}
	return c.value, c.ok, nil
}

func (s *store) getAlone(ctx context.Context, key string) (value []byte, ok bool, err error) {
	err = s.attempts(ctx, reads, func(conn *pgx.Conn) error {
		return found(conn.QueryRow(ctx, s.sql.get, key).Scan(&value), &ok)
	})
	if err != nil {
		return nil, false, err
	}
	return value, ok, nil
}

// getTogether reads what the cargos ask for. Those that ask for one key share
// its value.
func (s *store) getTogether(ctx context.Context, conn *pgx.Conn, cargos []*cargo) error {
	if len(cargos) == 1 {
		c := cargos[0]
		return found(conn.QueryRow(ctx, s.sql.get, c.key).Scan(&c.value), &c.ok)
	}
	slices.SortFunc(cargos, func(a, b *cargo) int { return strings.Compare(a.key, b.key) })
	keys := make([]string, 0, len(cargos))
	for i, c := range cargos {
		c.value, c.ok = nil, false
		if i == 0 || c.key != cargos[i-1].key {
			keys = append(keys, c.key)
		}
	}
	rows, err := conn.Query(ctx, s.sql.getTogether, keys)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var value []byte
		if err := rows.Scan(&key, &value); err != nil {
			return err
		}
		first, _ := slices.BinarySearchFunc(cargos, key, func(c *cargo, key string) int { return strings.Compare(c.key, key) })
		for _, c := range cargos[first:] {
			if c.key != key {
				break
			}
			c.value, c.ok = value, true
		}
	}
	return rows.Err()
}

// found turns the absence of a row into ok false.
func found(err error, ok *bool) error {
	if errors.Is(err, pgx.ErrNoRows) {
		*ok = false
		return nil
	}
	*ok = err == nil
	return err
}

// Set implements sdk.Store.
func (s *store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if len(value) > largest {
		return s.setAlone(ctx, key, value, ttl)
	}
	if s.sets.enter() {
		defer s.sets.exit()
		return s.setAlone(ctx, key, value, ttl)
	}
	// The caller may leave, and take the slice back, before it has been sent.
	return s.sets.carry(ctx, &cargo{key: key, value: append([]byte{}, value...), ttl: ttl})
}

func (s *store) setAlone(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.attempts(ctx, repeatable, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, s.sql.set, key, bytea(value), lifetime(ttl))
		return err
	})
}

// setTogether stores what the cargos bring. Of those that bring one key, the
// last to come counts: the others were overwritten at once. A row that somebody
// keeps locked must not hold up the others for long.
func (s *store) setTogether(ctx context.Context, conn *pgx.Conn, cargos []*cargo) error {
	slices.SortStableFunc(cargos, func(a, b *cargo) int { return strings.Compare(a.key, b.key) })
	e := newColumns(len(cargos))
	for i, c := range cargos {
		if i+1 == len(cargos) || cargos[i+1].key != c.key {
			e.add(c.key, c.value, c.ttl)
		}
	}
	if len(e.keys) == 1 {
		_, err := conn.Exec(ctx, s.sql.set, e.keys[0], e.values[0], e.ttls[0])
		return err
	}
	both := &pgx.Batch{} // one transaction
	both.Queue(`SELECT set_config('lock_timeout', '1s', true)`)
	both.Queue(s.sql.setTogether, e.keys, e.values, e.ttls)
	return conn.SendBatch(ctx, both).Close()
}

// Columns are entries as setTogether takes them.
type columns struct {
	keys   []string
	values [][]byte
	ttls   []pgtype.Interval
}

func newColumns(n int) *columns {
	return &columns{make([]string, 0, n), make([][]byte, 0, n), make([]pgtype.Interval, 0, n)}
}

func (e *columns) add(key string, value []byte, ttl time.Duration) {
	e.keys = append(e.keys, key)
	e.values = append(e.values, bytea(value))
	e.ttls = append(e.ttls, lifetime(ttl))
}

// bytea keeps an empty value from being NULL.
func bytea(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

// Delete implements sdk.Store.
func (s *store) Delete(ctx context.Context, key string) (existed bool, err error) {
	return s.remove(ctx, s.sql.delete, key)
}

// remove runs a DELETE that says of the row it removed whether it was live. One
// that ended while it was waited for was not.
func (s *store) remove(ctx context.Context, sql string, args ...any) (live bool, err error) {
	err = s.do(ctx, repeatable, func(conn *pgx.Conn) error {
		var ok bool
		live = false
		return found(conn.QueryRow(ctx, sql, args...).Scan(&live), &ok)
	})
	return live && err == nil, err
}

// Add implements sdk.Adder.
func (s *store) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (added bool, err error) {
	return s.exec(ctx, once, s.sql.add, key, bytea(value), lifetime(ttl))
}

// Replace implements sdk.Replacer.
func (s *store) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error) {
	return s.exec(ctx, once, s.sql.replace, key, bytea(value), lifetime(ttl))
}

// Pull implements sdk.Puller.
func (s *store) Pull(ctx context.Context, key string) (value []byte, ok bool, err error) {
	var live bool
	err = s.do(ctx, once, func(conn *pgx.Conn) error {
		return found(conn.QueryRow(ctx, s.sql.pull, key).Scan(&value, &live), &ok)
	})
	if err != nil || !ok || !live {
		return nil, false, err
	}
	return value, true, nil
}

// CompareDelete implements sdk.CompareDeleter.
func (s *store) CompareDelete(ctx context.Context, key string, value []byte) (deleted bool, err error) {
	return s.remove(ctx, s.sql.compare, key, bytea(value))
}

// exec runs a statement that changes one row or none, and reports which.
func (s *store) exec(ctx context.Context, e effect, sql string, args ...any) (changed bool, err error) {
	err = s.do(ctx, e, func(conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, sql, args...)
		changed = tag.RowsAffected() > 0
		return err
	})
	return changed && err == nil, err
}
