package database

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// clearPage is how many entries one page of Clear removes.
const clearPage = 2_000

// planned has a statement planned for the parameters at hand: how many keys
// there are between two is nothing that a plan for all cases could know.
const planned = pgx.QueryExecModeCacheDescribe

// Keys implements sdk.Lister, in the order of the keys. A cursor is the last
// key of the page before.
func (s *store) Keys(ctx context.Context, prefix string, cursor []byte, limit int) (keys []string, next []byte, err error) {
	limit = max(limit, 1)
	err = s.do(ctx, reads, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, s.sql.keys, planned, start(prefix, cursor), behind(prefix), limit)
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil || len(keys) < limit {
		return keys, nil, err
	}
	return keys, []byte(keys[len(keys)-1]), nil
}

// Clear implements sdk.Clearer, in the order of the keys.
func (s *store) Clear(ctx context.Context, prefix string, cursor []byte) (next []byte, removed int, err error) {
	var seen int
	var last pgtype.Text
	err = s.do(ctx, repeatable, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, s.sql.clear, planned, start(prefix, cursor), behind(prefix), clearPage).Scan(&seen, &last, &removed)
	})
	if err != nil || seen < clearPage {
		return nil, removed, err
	}
	return []byte(last.String), removed, nil
}

// start is the smallest key that a page may hold. No key lies between another
// and its extension by the smallest character.
func start(prefix string, cursor []byte) string {
	if len(cursor) == 0 {
		return prefix
	}
	return string(cursor) + "\x01"
}

// behind is a text that is greater than every key with the prefix, and than no
// other key that is. Bytewise order is that of code points in UTF-8.
func behind(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		if last == utf8.MaxRune {
			continue
		}
		if last++; last == surrogates {
			last = afterSurrogates
		}
		return prefix + string(last)
	}
	return behindAll
}

// behindAll is greater than every key, since it is longer than any.
var behindAll = strings.Repeat(string(utf8.MaxRune), 512)

// Code points that are no characters, and have no UTF-8 form.
const surrogates, afterSurrogates = 0xD800, 0xE000
