package database

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// A planCase is a statement whose plan is looked at.
type planCase struct {
	name  string
	sql   string
	args  []any
	plans []string // patterns, all of which the plan must match
}

const primary, byExpiry = `(Index|Index Only|Bitmap Index) Scan (using|on) \w+_pkey`, `Index Scan using \w+_expiry_idx`

func plannedStatements(s *store) []planCase {
	keys := []string{"app1:00000001", "app1:00000101", "app7:00000007", "none"}
	minute := lifetime(time.Minute)
	long := pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	return []planCase{
		{"Get", s.sql.get, []any{keys[0]}, []string{primary}},
		{"Get, together", s.sql.getTogether, []any{keys}, []string{primary}},
		{"GetMany", s.sql.getMany, []any{keys, mostAnswered}, []string{primary}},
		{"Set", s.sql.set, []any{keys[0], []byte("v"), minute}, []string{`Arbiter Indexes: \w+_pkey`}},
		{"Replace", s.sql.replace, []any{keys[0], []byte("v"), minute}, []string{primary}},
		{"Touch", s.sql.touch, []any{keys[0], minute}, []string{primary}},
		{"TTL", s.sql.ttl, []any{keys[0]}, []string{primary}},
		{"Pull", s.sql.pull, []any{keys[0]}, []string{primary}},
		{"Delete", s.sql.delete, []any{keys[0]}, []string{primary}},
		{"CompareDelete", s.sql.compare, []any{keys[0], []byte("v")}, []string{primary}},
		{"DeleteMany", s.sql.deleteMany, []any{keys}, []string{primary}},
		{"Keys", s.sql.keys, []any{"app7:", behind("app7:"), 100}, []string{primary, `Index Cond: \(\(key >= (\$1|'app7:'::text)\) AND \(key < (\$2|'app7;'::text)\)\)`}},
		{"Clear", s.sql.clear, []any{"app7:", behind("app7:"), clearPage}, []string{primary, `Index Cond: \(\(key >= (\$1|'app7:'::text)\) AND \(key < (\$2|'app7;'::text)\)\)`}},
		{"sweep of entries", s.sql.sweepEntries, []any{long, sweepBatch}, []string{byExpiry, `Tid Scan`}},
		{"sweep of locks", s.sql.sweepLocks, []any{long, sweepBatch}, []string{byExpiry, `Tid Scan`}},
		{"AcquireLease", s.sql.acquire.server, []any{"k", exclusive, "me", minute, true}, []string{primary, `Arbiter Indexes: \w+_pkey`}},
		{"RenewLease", s.sql.renew.server, []any{"k", exclusive, "me", minute}, []string{primary}},
		{"ReleaseLease", s.sql.release.server, []any{"k", exclusive, "me"}, []string{primary}},
		{"WaitLease", s.sql.waiting.server, []any{"k", exclusive, "me"}, []string{primary}},
	}
}

// explained is how the server runs a statement, which it does in a transaction
// that is rolled back: with a plan for these parameters, or with the one for
// all that it may keep for a prepared statement.
func explained(t testing.TB, conn *pgx.Conn, p planCase, forAll bool, how string) string {
	t.Helper()
	tx, err := conn.Begin(bounded(t))
	must(t, err)
	defer tx.Rollback(context.Background())
	mode := "force_custom_plan"
	if forAll {
		mode = "force_generic_plan"
	}
	execute(t, conn, `SET LOCAL plan_cache_mode = `+mode+`; DEALLOCATE ALL`)
	execute(t, conn, `PREPARE looked_at AS `+p.sql, pgx.QueryExecModeSimpleProtocol)
	places := make([]string, len(p.args))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	rows, err := tx.Query(bounded(t), "EXPLAIN "+how+" EXECUTE looked_at ("+strings.Join(places, ", ")+")",
		append([]any{pgx.QueryExecModeSimpleProtocol}, p.args...)...)
	must(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	return strings.Join(lines, "\n")
}

// fillLocks leaves n locks that were used at one time or another.
func fillLocks(t testing.TB, conn *pgx.Conn, s *store, n int) {
	t.Helper()
	execute(t, conn, fmt.Sprintf(`INSERT INTO %s SELECT 'lock:' || n, 'exclusive', '-gone', now() - interval '30 hours' * random(), n
		FROM generate_series(1, %d) AS n`, s.locks, n))
	execute(t, conn, fmt.Sprintf(`VACUUM ANALYZE %s`, s.locks))
}

func TestStatementsUseTheIndexes(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	conn := beside(t, server.URL(""))
	s := fresh(t, server)
	must(t, s.Ping(bounded(t)))
	fill(t, conn, s, 50_000)
	fillLocks(t, conn, s, 20_000)
	for _, p := range plannedStatements(s) {
		for _, forAll := range []bool{false, true} {
			plan := explained(t, conn, p, forAll, "(COSTS OFF)")
			for _, pattern := range p.plans {
				if !regexp.MustCompile(pattern).MatchString(plan) {
					t.Errorf("the plan of %s (for all parameters: %t) does not match %s:\n%s", p.name, forAll, pattern, plan)
				}
			}
			if strings.Contains(plan, "Seq Scan on cache") || strings.Contains(plan, "Seq Scan on locks") {
				t.Errorf("%s reads a whole table (for all parameters: %t):\n%s", p.name, forAll, plan)
			}
		}
	}
}

// A page of keys, and a page of Clear, read what they return and no more.
func TestPagesReadNoMoreThanTheyReturn(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	conn := beside(t, server.URL(""))
	s := fresh(t, server)
	must(t, s.Ping(bounded(t)))
	fill(t, conn, s, 20_000)
	plan := explained(t, conn, planCase{"Clear", s.sql.clear, []any{"", behind(""), 10}, nil}, false, "(ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)")
	if !regexp.MustCompile(`Index Scan using \w+_pkey on \w+ c(_\d)? \(actual rows=10 loops=1\)`).MatchString(plan) {
		t.Errorf("a page of 10 is read like this:\n%s", plan)
	}
}
