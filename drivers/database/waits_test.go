package database

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
)

// enter takes a lock as a host does: an attempt, a wait, and again.
func enter(ctx context.Context, s *store, r sdk.LeaseRequest) error {
	for {
		g, err := s.AcquireLease(ctx, r)
		if g.OK || err != nil {
			return err
		}
		if err := s.WaitLease(ctx, r); err != nil {
			return err
		}
	}
}

const countSessions = `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`

// named marks a store's sessions.
func named(name string) func(*options) {
	return func(o *options) {
		separator := "?"
		if strings.Contains(o.DSN, "?") {
			separator = "&"
		}
		o.DSN += separator + "application_name=" + name
	}
}

func listeners(s *store) func() bool {
	return func() bool {
		hears, _ := s.waits.state()
		return hears
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	conn := beside(t, server.URL(""))

	// Polling would take far longer than the test's patience allows.
	t.Run("a release in another store wakes up those who wait, without their asking", func(t *testing.T) {
		s := fresh(t, server)
		other := twin(t, s, server.URL(""))
		for range 20 {
			other.takes(t, lease(exclusive, "k", "holder", time.Hour))
			entered := make(chan error, 1)
			go func() { entered <- enter(bounded(t), s, lease(exclusive, "k", "waiter", time.Hour)) }()
			eventually(t, "the waiter waits", func() bool { return s.waits.count() == 1 })
			eventually(t, "somebody listens", listeners(s))
			start := time.Now()
			other.gives(t, lease(exclusive, "k", "holder", 0), true)
			must(t, <-entered)
			if took := time.Since(start); took >= askBehind {
				t.Errorf("it took %v: the waiter asked by itself", took)
			}
			s.gives(t, lease(exclusive, "k", "waiter", 0), true)
		}
	})

	t.Run("any number of waiters shares one connection beside the pool, and pins none of it", func(t *testing.T) {
		const waiters = 200
		s := fresh(t, server, named("shared"), func(o *options) { o.MaxConnections = 1 })
		s.takes(t, lease(exclusive, "k", "holder", time.Hour))
		ctx, cancel := context.WithCancel(bounded(t))
		var all sync.WaitGroup
		for range waiters {
			all.Go(func() {
				if err := s.WaitLease(ctx, lease(exclusive, "k", "waiter", time.Hour)); !errors.Is(err, context.Canceled) {
					t.Errorf("the wait ended with %v", err)
				}
			})
		}
		eventually(t, "all wait", func() bool { return s.waits.count() == waiters })
		eventually(t, "somebody listens", listeners(s))
		for range 50 {
			s.mustSet(t, "k", "v", 0) // on the only connection
			if n := ask[int](t, conn, countSessions, "shared"); n > 2 {
				t.Fatalf("%d sessions", n)
			}
		}
		cancel()
		all.Wait()
		if n := s.waits.count(); n != 0 {
			t.Errorf("%d waiters are remembered", n)
		}
	})

	t.Run("a listener that is killed comes back, and what it missed is asked for", func(t *testing.T) {
		s := fresh(t, server, named("killed"))
		other := twin(t, s, server.URL(""))
		for range 5 {
			other.takes(t, lease(exclusive, "k", "holder", time.Hour))
			entered := make(chan error, 1)
			go func() { entered <- enter(bounded(t), s, lease(exclusive, "k", "waiter", time.Hour)) }()
			eventually(t, "somebody listens", listeners(s))
			execute(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'killed' AND query LIKE 'LISTEN%'`)
			other.gives(t, lease(exclusive, "k", "holder", 0), true)
			must(t, <-entered)
			s.gives(t, lease(exclusive, "k", "waiter", 0), true)
		}
	})

	t.Run("a lease that nobody releases wakes up when it ends", func(t *testing.T) {
		s := fresh(t, server)
		for _, strategy := range []string{leased, exclusive} {
			s.takes(t, lease(strategy, "k", "dead", 200*time.Millisecond))
			must(t, enter(bounded(t), s, lease(strategy, "k", "waiter", time.Hour)))
		}
	})

	t.Run("a store that nobody waits in listens to nothing", func(t *testing.T) {
		s := fresh(t, server, named("quiet"))
		s.takes(t, lease(exclusive, "k", "me", time.Hour))
		s.gives(t, lease(exclusive, "k", "me", 0), true)
		if n := ask[int](t, conn, countSessions, "quiet"); n != 1 {
			t.Errorf("%d sessions; want the pool's one", n)
		}
		if !s.waits.retire() || s.waits.running {
			t.Error("a listener runs")
		}
	})

	t.Run("names of locks don't travel", func(t *testing.T) {
		s := fresh(t, server)
		must(t, s.Ping(bounded(t)))
		ear, err := pgx.Connect(bounded(t), server.URL(""))
		must(t, err)
		defer ear.Close(context.Background())
		execute(t, ear, "LISTEN "+s.waits.channel)
		key := strings.Repeat("k", 1024)
		s.takes(t, lease(exclusive, key, "me", time.Hour))
		s.gives(t, lease(exclusive, key, "me", 0), true)
		heard, err := ear.WaitForNotification(bounded(t))
		must(t, err)
		if heard.Payload != lockOf(lease(exclusive, key, "", 0)) || strings.Contains(heard.Payload, "kkk") {
			t.Errorf("the payload is %q", heard.Payload)
		}
	})
}
