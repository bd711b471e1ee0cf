package database

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
)

func pooledIn(o *options) { o.Pooler = "transaction" }

func TestBehindATransactionPooler(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	pooler := servertest.StartPgBouncer(t, server, servertest.PgBouncerOptions{Settings: []string{"default_pool_size = 3"}})
	admin := beside(t, server.URL(""))
	through := func(t *testing.T, change ...func(*options)) *store {
		return opened(t, settled(pooler.URL(""), append([]func(*options){ownTables, pooledIn}, change...)...))
	}

	t.Run("callers are served while the server's sessions change under them", func(t *testing.T) {
		s := through(t)
		l := startLoad(t, s, patience)
		for range 3 {
			l.goesOn(t)
			execute(t, admin, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'
				AND application_name = 'cachewright'`)
		}
		l.goesOn(t)
		l.end(t)
	})

	t.Run("waiters ask, where nothing leads past the pooler", func(t *testing.T) {
		s := through(t)
		other := twin(t, s, pooler.URL(""), pooledIn)
		other.takes(t, lease(exclusive, "k", "holder", time.Hour))
		entered := make(chan error, 1)
		go func() { entered <- enter(bounded(t), s, lease(exclusive, "k", "waiter", time.Hour)) }()
		eventually(t, "the waiter waits", func() bool { return s.waits.count() == 1 })
		other.gives(t, lease(exclusive, "k", "holder", 0), true)
		must(t, <-entered)
		if listeners(s)() {
			t.Error("somebody listens")
		}
	})

	t.Run("waiters are woken up, where listen_url does", func(t *testing.T) {
		s := through(t, func(o *options) { o.ListenURL = server.URL("") })
		other := twin(t, s, pooler.URL(""), pooledIn)
		other.takes(t, lease(exclusive, "k", "holder", time.Hour))
		entered := make(chan error, 1)
		go func() { entered <- enter(bounded(t), s, lease(exclusive, "k", "waiter", time.Hour)) }()
		eventually(t, "somebody listens", listeners(s))
		start := time.Now()
		other.gives(t, lease(exclusive, "k", "holder", 0), true)
		must(t, <-entered)
		if took := time.Since(start); took >= askBehind {
			t.Errorf("it took %v: the waiter asked by itself", took)
		}
	})

	t.Run("waiters hold no session, however many there are", func(t *testing.T) {
		s := through(t)
		s.takes(t, lease(exclusive, "k", "holder", time.Hour))
		ctx, cancel := context.WithCancel(bounded(t))
		ended := make(chan struct{})
		for range 100 {
			go func() {
				s.WaitLease(ctx, lease(exclusive, "k", "waiter", time.Hour))
				ended <- struct{}{}
			}()
		}
		eventually(t, "all wait", func() bool { return s.waits.count() == 100 })
		for i := range 20 {
			s.mustSet(t, fmt.Sprint(i), "v", 0)
		}
		cancel()
		for range 100 {
			<-ended
		}
	})

	t.Run("a store that doesn't know of the pooler is told", func(t *testing.T) {
		s := opened(t, settled(pooler.URL(""), ownTables))
		var told bool
		for i := range 200 {
			done := make(chan error, 8)
			for c := range cap(done) {
				go func() { done <- s.Set(bounded(t), fmt.Sprint(i, c), []byte("v"), 0) }()
			}
			for range cap(done) {
				if err := <-done; err != nil && strings.Contains(err.Error(), "pooler: transaction") {
					told = true
				}
			}
			if told {
				return
			}
		}
		t.Error("prepared statements went through the pooler without an error: is it in session mode?")
	})
}
