package database

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestConflictsAreRepeated(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{Settings: []string{"deadlock_timeout = 20ms"}})
	conn := beside(t, server.URL(""))

	t.Run("serialization failures", func(t *testing.T) {
		execute(t, conn, `CREATE ROLE strict SUPERUSER LOGIN; ALTER ROLE strict SET default_transaction_isolation = serializable`)
		s := fresh(t, server, func(o *options) { o.DSN = strings.Replace(o.DSN, "postgres@", "strict@", 1) })
		must(t, s.Ping(bounded(t)))
		const callers, steps = 8, 10
		var all sync.WaitGroup
		for c := range callers {
			all.Go(func() {
				for range steps {
					if _, err := s.Increment(bounded(t), "counter", 1, 0); err != nil {
						t.Error(err)
					}
					if _, err := s.AcquireLease(bounded(t), lease(exclusive, "lock", fmt.Sprint(c), time.Microsecond)); err != nil {
						t.Error(err)
					}
					must(t, s.SetMany(bounded(t), []sdk.Entry{{Key: "a", Value: []byte("v")}, {Key: "b", Value: []byte("v")}}))
					if _, err := s.DeleteMany(bounded(t), []string{"b", "a"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		s.holds(t, "counter", fmt.Sprint(callers*steps))
		var level string
		must(t, s.do(bounded(t), reads, func(c *pgx.Conn) error {
			return c.QueryRow(t.Context(), `SHOW transaction_isolation`).Scan(&level)
		}))
		if level != "serializable" || !strings.Contains(server.Log(), "could not serialize access") {
			t.Errorf("the store's transactions are %s, and none failed", level)
		}
	})

	t.Run("deadlocks with others", func(t *testing.T) {
		s := fresh(t, server)
		for _, key := range []string{"a", "b", "c"} {
			s.mustSet(t, key, "old", 0)
		}
		write := func(c *pgx.Conn, key string) error {
			_, err := c.Exec(bounded(t), fmt.Sprintf(`UPDATE %s SET value = 'theirs' WHERE key = $1`, s.settings.table), key)
			return err
		}
		begin := func(key string) (*pgx.Conn, pgx.Tx) {
			c := beside(t, server.URL(""))
			execute(t, c, `SET deadlock_timeout = '1h'`) // so that the store is the victim
			tx, err := c.Begin(bounded(t))
			must(t, err)
			must(t, write(c, key))
			return c, tx
		}
		_, barrier := begin("b")
		rival, theirs := begin("c")
		waits := func(who, condition string) {
			eventually(t, who+" waits for a row", func() bool {
				return ask[int](t, conn, `SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype IN ('transactionid', 'tuple') AND `+condition) > 0
			})
		}
		rivalPID := fmt.Sprintf("pid = %d", rival.PgConn().PID())
		ours, rivals := make(chan error, 1), make(chan error, 1)
		go func() {
			ours <- s.SetMany(bounded(t), []sdk.Entry{{Key: "c", Value: []byte("ours")}, {Key: "b", Value: []byte("ours")}, {Key: "a", Value: []byte("ours")}})
		}()
		waits("the store, which has a,", "NOT "+rivalPID) // for b
		go func() { rivals <- write(rival, "a") }()
		waits("the rival, which has c,", rivalPID) // for a
		must(t, barrier.Rollback(bounded(t)))
		must(t, <-rivals) // since the store, which waited for c then, gave in
		must(t, theirs.Commit(bounded(t)))
		must(t, <-ours)
		for _, key := range []string{"a", "b", "c"} {
			s.holds(t, key, "ours")
		}
		if !strings.Contains(server.Log(), "deadlock detected") {
			t.Error("there was no deadlock")
		}
	})

	t.Run("no longer than the caller's deadline", func(t *testing.T) {
		s := fresh(t, server)
		must(t, s.Ping(bounded(t)))
		execute(t, conn, fmt.Sprintf(`CREATE FUNCTION quarrel() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE serialization_failure; END $$;
			CREATE TRIGGER quarrel BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION quarrel()`, s.settings.table))
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		err := s.Set(ctx, "k", nil, 0)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := s.Set(context.Background(), "k", nil, 0); err == nil || !strings.Contains(err.Error(), "40001") {
			t.Errorf("without a deadline: %v", err)
		}
	})
}

func TestFates(t *testing.T) {
	t.Parallel()
	said := func(severity, code, routine string) error {
		return fmt.Errorf("wrapped: %w", &pgconn.PgError{Severity: severity, SeverityUnlocalized: severity, Code: code, Routine: routine})
	}
	for _, c := range []struct {
		err  error
		want fate
	}{
		{nil, done},
		{said("ERROR", "23505", ""), refused},
		{said("ERROR", "40001", ""), undone},
		{said("ERROR", "40P01", ""), undone},
		{said("ERROR", "0A000", "RevalidateCachedQuery"), undone},
		{said("ERROR", "0A000", "transformStmt"), refused},
		{said("FATAL", "57P01", ""), unknown},
		{said("FATAL", "08P01", ""), unknown},
		{said("ERROR", "08006", ""), unknown},
		{said("ERROR", "", ""), refused},
		{errors.New("unexpected EOF"), unknown},
		{context.DeadlineExceeded, unknown},
	} {
		if got := fateOf(c.err); got != c.want {
			t.Errorf("fateOf(%v) = %d; want %d", c.err, got, c.want)
		}
	}
}

// A transaction may still fail when it commits, after the server has answered
// its statement.
func TestAFailedCommitIsNoSuccess(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	pooler := servertest.StartPgBouncer(t, server, servertest.PgBouncerOptions{})
	conn := beside(t, server.URL(""))
	execute(t, conn, `CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE check_violation; END $$`)
	for name, s := range map[string]*store{
		"directly":         fresh(t, server),
		"through a pooler": opened(t, settled(pooler.URL(""), ownTables, pooledIn)),
	} {
		s.mustSet(t, "target", "7", 0)
		s.takes(t, lease(exclusive, "held", "me", time.Hour))
		for _, table := range []tableName{s.settings.table, s.locks} {
			execute(t, conn, fmt.Sprintf(`CREATE CONSTRAINT TRIGGER spoil AFTER INSERT OR UPDATE OR DELETE ON %s
				DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION spoil()`, table))
		}
		others := []op{
			{"Add of a new key", func(ctx context.Context, s *store) error { _, err := s.Add(ctx, "new", nil, 0); return err }, "7"},
			{"RenewLease", func(ctx context.Context, s *store) error {
				_, err := s.RenewLease(ctx, lease(exclusive, "held", "me", time.Hour))
				return err
			}, "7"},
			{"ReleaseLease", func(ctx context.Context, s *store) error {
				_, err := s.ReleaseLease(ctx, lease(exclusive, "held", "me", 0))
				return err
			}, "7"},
			{"Sets together", setTwoTogether, "7"},
		}
		for _, op := range append(append(others, onceOps[:3]...), repeatableOps...) {
			err := op.run(bounded(t), s)
			if saidCode(err) != "" || err == nil || !strings.Contains(err.Error(), "23514") {
				t.Errorf("%s, %s: %v; want the reason why the commit failed", op.name, name, err)
			}
			s.holds(t, "target", "7")
		}
	}
}

// setTwoTogether returns the errors of two Sets that travel as one statement.
func setTwoTogether(ctx context.Context, s *store) error {
	for range s.sets.places {
		s.sets.enter()
	}
	results := make(chan error, 2)
	for _, key := range []string{"target", "other"} {
		go func() { results <- s.Set(ctx, key, []byte("9"), 0) }()
	}
	for waitingIn(&s.sets) < 2 {
		time.Sleep(time.Millisecond)
	}
	for range s.sets.places {
		s.sets.exit()
	}
	if err := <-results; err == nil {
		return errors.New("one of the two succeeded")
	}
	return <-results
}

func TestBatchesInAnyOrderDoNotDeadlock(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{Settings: []string{"deadlock_timeout = 10ms"}})
	s := fresh(t, server, func(o *options) { o.SweepInterval = 20 * time.Millisecond })
	must(t, s.Ping(bounded(t)))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 30 {
				entries := make([]sdk.Entry, 0, 100)
				keys := make([]string, 0, 100)
				for _, i := range rand.Perm(200)[:100] {
					key := fmt.Sprint("k", i)
					keys = append(keys, key)
					entries = append(entries, sdk.Entry{Key: key, Value: []byte("v"), TTL: 20 * time.Millisecond})
				}
				if err := s.SetMany(bounded(t), entries); err != nil {
					t.Error(err)
				}
				if _, err := s.DeleteMany(bounded(t), keys); err != nil {
					t.Error(err)
				}
				if _, _, err := s.Clear(bounded(t), "k1", nil); err != nil {
					t.Error(err)
				}
				s.mustSet(t, keys[0], "v", 0)
			}
		})
	}
	all.Wait()
	if strings.Contains(server.Log(), "deadlock detected") {
		t.Errorf("there were deadlocks:\n%s", server.Log())
	}
}
