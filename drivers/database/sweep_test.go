package database

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
)

// fill writes n rows past the store: expired, live and immortal ones by turns.
func fill(t testing.TB, conn *pgx.Conn, s *store, n int) {
	t.Helper()
	execute(t, conn, fmt.Sprintf(`INSERT INTO %s SELECT 'app' || n %% 100 || ':' || lpad(n::text, 8, '0'), convert_to('value ' || n, 'UTF8'),
		CASE n %% 4 WHEN 0 THEN now() - interval '1 minute' * random() WHEN 1 THEN NULL ELSE now() + interval '1 day' * random() END
		FROM generate_series(1, %d) AS n`, s.settings.table, n))
	execute(t, conn, fmt.Sprintf(`VACUUM ANALYZE %s`, s.settings.table))
}

func countRows(t testing.TB, conn *pgx.Conn, s *store) int {
	t.Helper()
	return ask[int](t, conn, fmt.Sprintf(`SELECT count(*) FROM %s`, s.settings.table))
}

func TestSweeping(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{Settings: []string{"autovacuum_naptime = 1s"}})
	conn := beside(t, server.URL(""))

	t.Run("by several stores at once removes what has expired and nothing else", func(t *testing.T) {
		s := fresh(t, server)
		must(t, s.Ping(bounded(t)))
		fill(t, conn, s, 20_000)
		var all sync.WaitGroup
		removed := make([]int, 4)
		for i := range removed {
			other := twin(t, s, server.URL(""))
			all.Go(func() {
				n, err := other.sweepTable(bounded(t), other.sql.sweepEntries)
				if removed[i] = n; err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		n, err := s.sweepTable(bounded(t), s.sql.sweepEntries)
		must(t, err)
		for _, other := range removed {
			n += other
		}
		if left := countRows(t, conn, s); n != 5_000 || left != 15_000 {
			t.Errorf("%d rows were removed and %d are left; want 5000 and 15000", n, left)
		}
	})

	t.Run("waits for nobody, and removes no row that was written meanwhile", func(t *testing.T) {
		s := fresh(t, server)
		must(t, s.Ping(bounded(t)))
		fill(t, conn, s, 400)
		tx, err := conn.Begin(bounded(t))
		must(t, err)
		execute(t, conn, fmt.Sprintf(`UPDATE %s SET value = 'fresh', expiry = now() + interval '1 hour' WHERE key LIKE 'app0:%%'`, s.settings.table))
		n, err := s.sweepTable(bounded(t), s.sql.sweepEntries)
		if err != nil || n != 96 {
			t.Errorf("beside 4 rows that are locked %d were removed, %v; want 96", n, err)
		}
		must(t, tx.Commit(bounded(t)))
		if n, err := s.sweepTable(bounded(t), s.sql.sweepEntries); n != 0 || err != nil {
			t.Errorf("%d rows were removed that had been written anew, %v", n, err)
		}
		s.holds(t, "app0:00000400", "fresh")
	})

	t.Run("goes on by itself, while others write, and leaves a bounded table", func(t *testing.T) {
		s := fresh(t, server, func(o *options) { o.SweepInterval = 50 * time.Millisecond })
		must(t, s.Ping(bounded(t)))
		churn(t, conn, s, 20_000, func() { execute(t, conn, fmt.Sprintf(`VACUUM %s`, s.settings.table)) })
	})

	t.Run("can be turned off", func(t *testing.T) {
		s := fresh(t, server, func(o *options) { o.SweepInterval = 0 })
		must(t, s.Ping(bounded(t)))
		s.sweep() // returns
	})
}

// churn stores n entries that live for a moment, and waits until their rows
// are gone. The table must not grow with the number of entries that have been:
// the space that rows have left is used again after a vacuum.
func churn(t *testing.T, conn *pgx.Conn, s *store, n int, vacuum func()) {
	t.Helper()
	const batch = 500
	var largest int64
	value := make([]byte, 100)
	for i := 0; i < n; i += batch {
		entries := make([]sdk.Entry, batch)
		for j := range entries {
			entries[j] = sdk.Entry{Key: fmt.Sprintf("session:%08d", i+j), Value: value, TTL: 50 * time.Millisecond}
		}
		must(t, s.SetMany(bounded(t), entries))
		eventually(t, "the sweeps keep up", func() bool { return countRows(t, conn, s) <= 3*batch })
		vacuum()
		size := ask[int64](t, conn, `SELECT pg_total_relation_size(to_regclass($1))`, string(s.settings.table))
		largest = max(largest, size)
	}
	eventually(t, "all rows are swept", func() bool { return countRows(t, conn, s) == 0 })
	all := int64(n) * 300 // what they would take side by side, indexes included
	t.Logf("%d entries passed through; the table had %d KiB at most, and all of them would take %d", n, largest>>10, all>>10)
	if largest > all/2 {
		t.Errorf("the table grew to %d KiB", largest>>10)
	}
}
