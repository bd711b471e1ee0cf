package database

import (
	"context"
	"slices"
	"strings"

	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
)

// mostAnswered is where GetMany stops, in bytes, after at least one value.
const mostAnswered = 16 << 20

// GetMany implements sdk.Batcher, with one statement.
func (s *store) GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	var answers []sdk.Lookup
	err := s.do(ctx, reads, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, s.sql.getMany, keys, mostAnswered)
		if err != nil {
			return err
		}
		answers, err = readMany(rows, len(keys))
		return err
	})
	return answers, err
}

// readMany reads rows of the number of keys found, a key's place and its value.
// Where the answer was cut, nothing is known of the keys behind the last row.
func readMany(rows pgx.Rows, asked int) ([]sdk.Lookup, error) {
	defer rows.Close()
	answers := make([]sdk.Lookup, asked)
	var found, read, place int
	for rows.Next() {
		var value []byte
		if err := rows.Scan(&found, &place, &value); err != nil {
			return nil, err
		}
		answers[place-1] = sdk.Lookup{Value: value, OK: true}
		read++
	}
	if read < found {
		answers = answers[:place]
	}
	return answers, rows.Err()
}

// SetMany implements sdk.Batcher, with one statement: all entries are stored or
// none. They are sorted, so that no two batches wait for each other.
func (s *store) SetMany(ctx context.Context, entries []sdk.Entry) error {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b sdk.Entry) int { return strings.Compare(a.Key, b.Key) })
	e := newColumns(len(entries))
	for _, entry := range entries {
		e.add(entry.Key, entry.Value, entry.TTL)
	}
	_, err := s.exec(ctx, repeatable, s.sql.setTogether, e.keys, e.values, e.ttls)
	return err
}

// DeleteMany implements sdk.Batcher, with one statement that locks the rows in
// the order of their keys.
func (s *store) DeleteMany(ctx context.Context, keys []string) (existed int, err error) {
	err = s.do(ctx, repeatable, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, s.sql.deleteMany, keys).Scan(&existed)
	})
	return existed, err
}
