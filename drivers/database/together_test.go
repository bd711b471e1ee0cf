package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

// waitingIn is how many operations wait for a place in a lane.
func waitingIn(l *lane) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, c := range l.queue {
		if !c.left {
			n++
		}
	}
	return n
}

// occupied takes all places of a lane until the returned function gives them
// back, so that operations wait for each other.
func occupied(t *testing.T, l *lane) (leave func()) {
	t.Helper()
	for range l.places {
		if !l.enter() {
			t.Fatal("a place is taken")
		}
	}
	return func() {
		for range l.places {
			l.exit()
		}
	}
}

func TestOperationsThatTravelTogether(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	conn := beside(t, server.URL(""))

	t.Run("each get their own answer, whatever the others ask for", func(t *testing.T) {
		s := fresh(t, server)
		for i := range 100 {
			s.mustSet(t, fmt.Sprint(i), "value of "+fmt.Sprint(i), 0)
		}
		s.mustSet(t, "empty", "", 0)
		leave := occupied(t, &s.gets)
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() {
				key, want := fmt.Sprint(i%150), ""
				if i%150 < 100 {
					want = "value of " + key
				}
				s.holds(t, key, want)
			})
		}
		all.Go(func() {
			if value, ok, err := s.Get(bounded(t), "empty"); value == nil || len(value) != 0 || !ok || err != nil {
				t.Errorf("an empty value: %v, %t, %v", value, ok, err)
			}
		})
		eventually(t, "all wait", func() bool { return waitingIn(&s.gets) == 301 })
		leave()
		all.Wait()
	})

	t.Run("store every value with its own TTL, and of several for one key the last to come", func(t *testing.T) {
		s := fresh(t, server)
		must(t, s.Ping(bounded(t)))
		s.mustSet(t, "k0", "old", time.Second)
		leave := occupied(t, &s.sets)
		var all sync.WaitGroup
		for i := range 120 { // no more than travel at once
			before := waitingIn(&s.sets)
			all.Go(func() {
				ttl := time.Duration(i) * time.Minute
				s.mustSet(t, fmt.Sprintf("k%d", i%60), fmt.Sprint(i), ttl)
			})
			eventually(t, "it waits", func() bool { return waitingIn(&s.sets) > before })
		}
		leave()
		all.Wait()
		for i := range 60 {
			key := fmt.Sprintf("k%d", i)
			s.holds(t, key, fmt.Sprint(i+60))
			ttl, ok, err := s.TTL(bounded(t), key)
			want := time.Duration(i+60) * time.Minute
			if err != nil || !ok || ttl > want || ttl < want-time.Minute {
				t.Errorf("%s lives %v, %t, %v; want %v", key, ttl, ok, err, want)
			}
		}
	})

	t.Run("that leave before they are sent are not carried out", func(t *testing.T) {
		s := fresh(t, server)
		must(t, s.Ping(bounded(t)))
		leave := occupied(t, &s.sets)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- s.Set(ctx, "left", []byte("v"), 0) }()
		eventually(t, "it waits", func() bool { return waitingIn(&s.sets) == 1 })
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) || errors.Is(err, sdk.ErrMaybeApplied) {
			t.Errorf("the one that left: %v", err)
		}
		stayed := make(chan error, 1)
		go func() { stayed <- s.Set(bounded(t), "stayed", []byte("v"), 0) }()
		eventually(t, "another waits", func() bool { return waitingIn(&s.sets) == 1 })
		leave()
		must(t, <-stayed)
		s.holds(t, "stayed", "v")
		s.holds(t, "left", "")
	})

	t.Run("that leave under way may have been carried out, and the others go on", func(t *testing.T) {
		s := fresh(t, server)
		s.mustSet(t, "a", "old", 0)
		lock, err := conn.Begin(bounded(t))
		must(t, err)
		execute(t, conn, fmt.Sprintf(`LOCK TABLE %s IN EXCLUSIVE MODE`, s.settings.table))
		leave := occupied(t, &s.sets)
		ctx, cancel := context.WithCancel(t.Context())
		left, stayed := make(chan error, 1), make(chan error, 1)
		go func() { left <- s.Set(ctx, "a", []byte("new"), 0) }()
		go func() { stayed <- s.Set(bounded(t), "b", []byte("new"), 0) }()
		eventually(t, "both wait", func() bool { return waitingIn(&s.sets) == 2 })
		leave()
		other := beside(t, server.URL(""))
		eventually(t, "the server waits for the lock", func() bool {
			return ask[int](t, other, `SELECT count(*) FROM pg_locks WHERE NOT granted`) > 0
		})
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) || !errors.Is(err, sdk.ErrMaybeApplied) {
			t.Errorf("the one that left: %v", err)
		}
		must(t, lock.Rollback(bounded(t)))
		must(t, <-stayed)
		s.holds(t, "b", "new")
	})

	t.Run("don't wait for one whose row somebody keeps locked", func(t *testing.T) {
		s := fresh(t, server)
		s.mustSet(t, "locked", "old", 0)
		lock, err := conn.Begin(bounded(t))
		must(t, err)
		execute(t, conn, fmt.Sprintf(`SELECT FROM %s WHERE key = 'locked' FOR UPDATE`, s.settings.table))
		leave := occupied(t, &s.sets)
		var others sync.WaitGroup
		stuck := make(chan error, 1)
		go func() { stuck <- s.Set(bounded(t), "locked", []byte("new"), time.Hour) }()
		for i := range 50 {
			others.Go(func() { s.mustSet(t, fmt.Sprint(i), "v", 0) })
		}
		eventually(t, "all wait", func() bool { return waitingIn(&s.sets) == 51 })
		leave()
		others.Wait()
		select {
		case err := <-stuck:
			t.Errorf("the locked row was written: %v", err)
		default:
		}
		must(t, lock.Rollback(bounded(t)))
		must(t, <-stuck)
		s.holds(t, "locked", "new")
		ttl, _, err := s.TTL(bounded(t), "locked")
		if must(t, err); ttl < time.Hour-patience {
			t.Errorf("its hour is %v", ttl)
		}
	})

	t.Run("keep their connections, however many callers leave", func(t *testing.T) {
		s := fresh(t, server, named("calm"))
		s.mustSet(t, "k", "v", 0)
		const pids = `SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity WHERE application_name = 'calm'`
		before := ask[string](t, conn, pids)
		leave := occupied(t, &s.gets)
		var all sync.WaitGroup
		ctx, cancel := context.WithCancel(t.Context())
		for range 100 {
			all.Go(func() {
				if _, _, err := s.Get(ctx, "k"); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		eventually(t, "all wait", func() bool { return waitingIn(&s.gets) == 100 })
		leave()
		cancel()
		all.Wait()
		s.holds(t, "k", "v")
		if after := ask[string](t, conn, pids); !strings.HasPrefix(after, before) {
			t.Errorf("the sessions %s became %s", before, after)
		}
	})
}
