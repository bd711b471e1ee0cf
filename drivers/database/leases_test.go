package database

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
)

const (
	exclusive = sdk.StrategyExclusive
	leased    = sdk.StrategyLease
)

// rowOf is a lock's row, whole, with what the server knows of its versions.
func rowOf(t testing.TB, conn *pgx.Conn, s *store, key string) string {
	t.Helper()
	return ask[string](t, conn, fmt.Sprintf(`SELECT coalesce((SELECT l::text || l.ctid || l.xmin || l.xmax FROM %s AS l WHERE key = $1), '')`, s.locks), key)
}

// leftOf is what a lock's lease has left, by the server's clock.
func leftOf(t testing.TB, conn *pgx.Conn, s *store, key string) time.Duration {
	t.Helper()
	return ask[time.Duration](t, conn, fmt.Sprintf(`SELECT make_interval(secs => extract(epoch FROM expiry - clock_timestamp())) FROM %s WHERE key = $1`, s.locks), key)
}

func TestLeases(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	conn := beside(t, server.URL(""))

	t.Run("one attempt takes what is free, expired or its own, and leaves another's row as it was", func(t *testing.T) {
		s := fresh(t, server)
		for _, strategy := range []string{leased, exclusive} {
			key := "key of " + strategy
			s.takes(t, lease(strategy, key, "first", time.Minute))
			before := rowOf(t, conn, s, key)
			s.refuses(t, lease(strategy, key, "second", time.Hour))
			if after := rowOf(t, conn, s, key); after != before {
				t.Errorf("%s: a refusal changed the row from %s to %s", strategy, before, after)
			}
			s.takes(t, lease(strategy, key, "first", time.Hour))
			if left := leftOf(t, conn, s, key); left < 50*time.Minute {
				t.Errorf("%s: its owner's second attempt left the lease at %v", strategy, left)
			}
			execute(t, conn, fmt.Sprintf(`UPDATE %s SET expiry = now() - interval '1ms' WHERE key = $1`, s.locks), key)
			s.takes(t, lease(strategy, key, "second", time.Minute))
			if row := rowOf(t, conn, s, key); !strings.Contains(row, "second") {
				t.Errorf("%s: the row is %s after its lease was taken over", strategy, row)
			}
		}
	})

	t.Run("of 64 attempts on an expired row one wins", func(t *testing.T) {
		s := fresh(t, server)
		for _, strategy := range []string{leased, exclusive} {
			s.takes(t, lease(strategy, "k", "dead", time.Microsecond))
			var wins atomic.Int64
			var all sync.WaitGroup
			for i := range 64 {
				all.Go(func() {
					g, err := s.AcquireLease(bounded(t), lease(strategy, "k", fmt.Sprint(i), time.Minute))
					if err != nil {
						t.Error(err)
					}
					if g.OK {
						wins.Add(1)
					}
				})
			}
			all.Wait()
			if wins.Load() != 1 {
				t.Errorf("%s: %d won", strategy, wins.Load())
			}
		}
	})

	t.Run("strategy lease goes by the clock of the driver's machine", func(t *testing.T) {
		s := fresh(t, server)
		fast := twin(t, s, server.URL(""))
		fast.now = func() time.Time { return time.Now().Add(time.Hour) }
		fast.takes(t, lease(leased, "k", "fast", time.Minute))
		if left := leftOf(t, conn, s, "k"); left < 59*time.Minute || left > 62*time.Minute {
			t.Errorf("a lease of 1m by a clock that is 1h ahead ends in %v", left)
		}
		s.takes(t, lease(leased, "other", "slow", 10*time.Minute))
		fast.takes(t, lease(leased, "other", "fast", time.Minute)) // it is over, for this clock
	})

	t.Run("strategy lease loses what its acquisition takes on the way", func(t *testing.T) {
		proxy := servertest.StartProxy(t, "tcp", server.Addr())
		s := fresh(t, server, func(o *options) { o.DSN = strings.Replace(o.DSN, server.Addr(), proxy.Addr(), 1) })
		s.takes(t, lease(leased, "warm", "me", time.Minute))
		proxy.Stall()
		asked := make(chan struct{})
		s.now = sync.OnceValue(func() time.Time {
			defer close(asked)
			return time.Now()
		})
		taken := make(chan error, 1)
		go func() {
			_, err := s.AcquireLease(bounded(t), lease(leased, "k", "me", 10*time.Second))
			taken <- err
		}()
		<-asked
		const delay = 200 * time.Millisecond
		time.Sleep(delay)
		proxy.Heal(t)
		must(t, <-taken)
		if left := leftOf(t, conn, s, "k"); left > 10*time.Second-delay {
			t.Errorf("a lease of 10s has %v left after %v on the way", left, delay)
		}
	})

	t.Run("strategy exclusive goes by the server's clock", func(t *testing.T) {
		s := fresh(t, server)
		fast := twin(t, s, server.URL(""))
		fast.now = func() time.Time { return time.Now().Add(time.Hour) }
		s.takes(t, lease(exclusive, "k", "slow", 10*time.Minute))
		fast.refuses(t, lease(exclusive, "k", "fast", time.Minute))
	})

	t.Run("a release deletes the row of strategy lease while it is the owner's", func(t *testing.T) {
		s := fresh(t, server)
		a, b := lease(leased, "k", "a", time.Microsecond), lease(leased, "k", "b", time.Minute)
		s.takes(t, a)
		s.takes(t, b)
		before := rowOf(t, conn, s, "k")
		s.gives(t, a, false)
		if after := rowOf(t, conn, s, "k"); after != before {
			t.Errorf("the late leaver changed its successor's row from %s to %s", before, after)
		}
		s.gives(t, b, true)
		s.gives(t, b, false)
		s.takes(t, a)
		s.gives(t, a, false) // it had ended
		if row := rowOf(t, conn, s, "k"); row != "" {
			t.Errorf("the row is left: %s", row)
		}
	})

	t.Run("the fence outlives the lease by 24 hours, and a sweep no longer", func(t *testing.T) {
		s := fresh(t, server)
		first := s.takes(t, lease(exclusive, "k", "a", time.Minute))
		s.gives(t, lease(exclusive, "k", "a", 0), true)
		ahead := first.Fence + uint64(time.Hour.Microseconds())
		execute(t, conn, fmt.Sprintf(`UPDATE %s SET fence = $1`, s.locks), int64(ahead))
		age := func(hours int) {
			execute(t, conn, fmt.Sprintf(`UPDATE %s SET expiry = now() - make_interval(hours => $1)`, s.locks), hours)
			if _, err := s.sweepTable(bounded(t), s.sql.sweepLocks); err != nil {
				t.Fatal(err)
			}
		}
		age(23)
		if g := s.takes(t, lease(exclusive, "k", "b", time.Minute)); g.Fence != ahead+1 {
			t.Errorf("after 23 hours the fence is %d; want %d", g.Fence, ahead+1)
		}
		age(25)
		if row := rowOf(t, conn, s, "k"); row != "" {
			t.Errorf("after 25 hours the row is there: %s", row)
		}
	})

	t.Run("neither lock nor value take part in a transaction of the application's", func(t *testing.T) {
		s := fresh(t, server)
		tx, err := conn.Begin(bounded(t))
		must(t, err)
		execute(t, tx.Conn(), `SELECT 1`)
		s.takes(t, lease(leased, "k", "me", time.Minute))
		s.mustSet(t, "k", "v", 0)
		must(t, tx.Rollback(bounded(t)))
		s.holds(t, "k", "v")
		s.refuses(t, lease(leased, "k", "other", time.Minute))
	})

	t.Run("a row that no driver wrote is an error that names it, and nobody waits for it", func(t *testing.T) {
		s := fresh(t, server)
		must(t, s.Ping(bounded(t)))
		plant := func(strategy, key, owner, expiry string, fence int64) {
			execute(t, conn, fmt.Sprintf(`INSERT INTO %s (key, strategy, owner, expiry, fence) VALUES ($1, $2, $3, $4::timestamptz, $5)`, s.locks),
				key, strategy, owner, expiry, fence)
		}
		foreign := func(what string, err error, strategy string) {
			t.Helper()
			if !errors.Is(err, sdk.ErrCorrupt) || !strings.Contains(err.Error(), "strategy "+strategy) || !strings.Contains(err.Error(), string(s.locks)) {
				t.Errorf("%s: %v; want ErrCorrupt that names strategy %s and table %s", what, err, strategy, s.locks)
			}
		}
		for _, strategy := range []string{leased, exclusive} {
			plant(strategy, "endless", "another", "infinity", 1)
			r := lease(strategy, "endless", "me", time.Minute)
			_, err := s.AcquireLease(bounded(t), r)
			foreign("acquire beside a row that never expires", err, strategy)
			_, err = s.RenewLease(bounded(t), r)
			foreign("renew beside a row that never expires", err, strategy)
			foreign("wait for a row that never expires", s.WaitLease(bounded(t), r), strategy)
			s.gives(t, r, false)

			plant(strategy, "past", "another", "-infinity", 1)
			s.takes(t, lease(strategy, "past", "me", time.Minute))
			plant(strategy, "far", "another", "294270-01-01", 1)
			if g := s.refuses(t, lease(strategy, "far", "me", time.Minute)); g.Remaining < 100*365*24*time.Hour {
				t.Errorf("%s: a row until the year 294270 has %v left", strategy, g.Remaining)
			}
		}
		plant(exclusive, "highest", "another", "2001-01-01", math.MaxInt64)
		_, err := s.AcquireLease(bounded(t), lease(exclusive, "highest", "me", time.Minute))
		foreign("after the highest fence", err, exclusive)
		plant(exclusive, "high", "another", "2001-01-01", math.MaxInt64-1)
		if g := s.takes(t, lease(exclusive, "high", "me", time.Minute)); g.Fence != math.MaxInt64 {
			t.Errorf("after the highest fence but one comes %d", g.Fence)
		}
	})

	t.Run("an entry whose row never expires has no TTL", func(t *testing.T) {
		s := fresh(t, server)
		s.mustSet(t, "k", "v", time.Hour)
		execute(t, conn, fmt.Sprintf(`UPDATE %s SET expiry = 'infinity'`, s.settings.table))
		if ttl, ok, err := s.TTL(bounded(t), "k"); ttl != sdk.NoExpiry || !ok || err != nil {
			t.Errorf("TTL: %v, %t, %v", ttl, ok, err)
		}
	})

	for what, sql := range map[string]string{
		"a revoked INSERT":     `REVOKE INSERT ON %s FROM clerk`,
		"a dropped table":      `DROP TABLE %s`,
		"a database read-only": `ALTER DATABASE postgres SET default_transaction_read_only = on; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'clerk'; -- %s`,
	} {
		t.Run("an INSERT that fails by "+what+" is an error at once, not a lock that is taken", func(t *testing.T) {
			execute(t, conn, `CREATE ROLE clerk LOGIN`)
			defer execute(t, conn, `DROP OWNED BY clerk; DROP ROLE clerk`)
			owner := fresh(t, server)
			owner.takes(t, lease(leased, "taken", "holder", time.Hour))
			execute(t, conn, fmt.Sprintf(`GRANT SELECT, INSERT, UPDATE, DELETE ON %s, %s TO clerk`, owner.settings.table, owner.locks))
			s := twin(t, owner, strings.Replace(server.URL(""), "postgres@", "clerk@", 1))
			s.refuses(t, lease(leased, "taken", "other", time.Minute)) // a true conflict is no error
			execute(t, conn, fmt.Sprintf(sql, s.locks))
			defer execute(t, conn, `SET default_transaction_read_only = off; ALTER DATABASE postgres RESET default_transaction_read_only`)
			for _, strategy := range []string{leased, exclusive} {
				g, err := s.AcquireLease(bounded(t), lease(strategy, "free", "me", time.Minute))
				if err == nil || g.OK || !strings.Contains(err.Error(), "SQLSTATE") || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: got %+v, %v; want the server's reason", strategy, g, err)
				}
			}
		})
	}

	t.Run("a release that the server refuses is an error", func(t *testing.T) {
		execute(t, conn, `CREATE ROLE clerk LOGIN`)
		defer execute(t, conn, `DROP OWNED BY clerk; DROP ROLE clerk`)
		owner := fresh(t, server)
		must(t, owner.Ping(bounded(t)))
		execute(t, conn, fmt.Sprintf(`GRANT SELECT, INSERT, UPDATE ON %s, %s TO clerk`, owner.settings.table, owner.locks))
		s := twin(t, owner, strings.Replace(server.URL(""), "postgres@", "clerk@", 1))
		s.takes(t, lease(leased, "k", "me", time.Minute))
		_, err := s.ReleaseLease(bounded(t), lease(leased, "k", "me", 0))
		if err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("without DELETE a release gives %v", err)
		}
	})
}
