package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
)

func TestClose(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	conn := beside(t, server.URL(""))

	t.Run("ends every session, the listener's too", func(t *testing.T) {
		s, err := open(t.Context(), settled(server.URL(""), ownTables, named("closing")))
		must(t, err)
		s.mustSet(t, "k", "v", 0)
		s.takes(t, lease(exclusive, "k", "holder", time.Hour))
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error, 1)
		go func() { waited <- s.WaitLease(ctx, lease(exclusive, "k", "waiter", time.Hour)) }()
		eventually(t, "somebody listens", listeners(s))
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		must(t, s.Close())
		eventually(t, "no session is left", func() bool { return ask[int](t, conn, countSessions, "closing") == 0 })
	})

	t.Run("waits for no server that doesn't answer", func(t *testing.T) {
		proxy := servertest.StartProxy(t, "tcp", server.Addr())
		s, err := open(t.Context(), settled(strings.Replace(server.URL(""), server.Addr(), proxy.Addr(), 1), ownTables))
		must(t, err)
		s.mustSet(t, "k", "v", 0)
		proxy.Stall()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, _, err := s.Get(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		start := time.Now()
		must(t, s.Close())
		if took := time.Since(start); took > closeTimeout+10*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A statement that was prepared before its table was changed fails once, for
// nobody to see.
func TestAChangedTableIsNoError(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	s := fresh(t, server, func(o *options) { o.MaxConnections = 1 })
	s.mustSet(t, "a", "1", 0)
	s.mustSet(t, "b", "2", 0)
	both := func() {
		t.Helper()
		leave := occupied(t, &s.gets)
		results := make(chan error, 2)
		for _, key := range []string{"a", "b"} {
			go func() {
				_, ok, err := s.Get(bounded(t), key)
				if !ok {
					err = errors.Join(err, errors.New("a miss"))
				}
				results <- err
			}()
		}
		eventually(t, "both wait", func() bool { return waitingIn(&s.gets) == 2 })
		leave()
		must(t, <-results)
		must(t, <-results)
	}
	both()
	execute(t, beside(t, server.URL("")), fmt.Sprintf(`ALTER TABLE %s ALTER COLUMN key TYPE varchar COLLATE "C"`, s.settings.table))
	both()
	if !strings.Contains(server.Log(), "cached plan must not change result type") {
		t.Error("the change was not noticed")
	}
}
