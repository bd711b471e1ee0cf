//go:build soak

package database

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
)

// Several stores sweep while all of them write, and the server's own vacuum is
// the only one.
func TestSoakShortLivedEntriesLeaveABoundedTable(t *testing.T) {
	server := servertest.StartPostgres(t, servertest.PostgresOptions{Settings: []string{"autovacuum_naptime = 1s"}})
	conn := beside(t, server.URL(""))
	first := fresh(t, server, func(o *options) { o.SweepInterval = 200 * time.Millisecond })
	must(t, first.Ping(bounded(t)))
	const stores, entries, perSecond = 4, 200_000, 5_000
	var written atomic.Int64
	var all sync.WaitGroup
	for range stores {
		s := twin(t, first, server.URL(""), func(o *options) { o.SweepInterval = 200 * time.Millisecond })
		all.Go(func() {
			tick := time.NewTicker(stores * time.Second / perSecond)
			defer tick.Stop()
			for n := written.Add(1); n <= entries; n = written.Add(1) {
				s.mustSet(t, fmt.Sprintf("session:%09d", n), "a value of some thirty letters.", 500*time.Millisecond)
				<-tick.C
			}
		})
	}
	var sizes []int64
	size := func() int64 {
		return ask[int64](t, conn, `SELECT pg_total_relation_size(to_regclass($1))`, string(first.settings.table))
	}
	for done := false; !done; {
		time.Sleep(2 * time.Second)
		sizes = append(sizes, size())
		done = written.Load() > entries
	}
	all.Wait()
	eventually(t, "all rows are swept", func() bool { return countRows(t, conn, first) == 0 })
	middle, last := sizes[len(sizes)/2], sizes[len(sizes)-1]
	t.Logf("%d entries at up to %d/s; size of the table over time: %v", entries, perSecond, sizes)
	if last > 2*middle+1<<20 || last > entries*300/3 {
		t.Errorf("the table grew to %d KiB, from %d KiB half-way", last>>10, middle>>10)
	}
}

func TestSoakAMillionRows(t *testing.T) {
	server := servertest.StartPostgres(t, servertest.PostgresOptions{Settings: []string{"shared_buffers = 256MB", "max_wal_size = 4GB"}})
	conn := beside(t, server.URL(""))
	s := fresh(t, server)
	must(t, s.Ping(bounded(t)))
	for range 4 {
		// In parts, so that each is done within the patience of a test.
		execute(t, conn, fmt.Sprintf(`INSERT INTO %[1]s SELECT 'app' || n %% 100 || ':' || lpad(n::text, 8, '0'), convert_to('value ' || n, 'UTF8'),
			CASE n %% 4 WHEN 0 THEN now() - interval '1 minute' * random() WHEN 1 THEN NULL ELSE now() + interval '1 day' * random() END
			FROM (SELECT (SELECT count(*) FROM %[1]s) + m AS n FROM generate_series(1, 250000) AS m) AS numbers`, s.settings.table))
	}
	execute(t, conn, fmt.Sprintf(`VACUUM ANALYZE %s`, s.settings.table))
	fillLocks(t, conn, s, 100_000)
	for _, p := range plannedStatements(s) {
		t.Logf("%s\n%s\n", p.name, explained(t, conn, p, false, "(ANALYZE, BUFFERS, COSTS OFF)"))
	}
	t.Run("clear", func(t *testing.T) {
		slowest := meanwhile(t, s, func() {
			removed, pages, worst := 0, 0, time.Duration(0)
			for cursor := []byte(nil); ; pages++ {
				start := time.Now()
				next, n, err := s.Clear(bounded(t), "app7:", cursor)
				must(t, err)
				removed, worst = removed+n, max(worst, time.Since(start))
				if cursor = next; len(next) == 0 {
					break
				}
			}
			t.Logf("Clear of a prefix removed %d live entries in %d pages, the slowest in %v", removed, pages+1, worst)
			if removed == 0 || worst > time.Second {
				t.Errorf("%d entries, a page took %v", removed, worst)
			}
		})
		t.Logf("a Get meanwhile took at most %v", slowest)
	})
	t.Run("sweep", func(t *testing.T) {
		slowest := meanwhile(t, s, func() {
			start := time.Now()
			n, err := s.sweepTable(t.Context(), s.sql.sweepEntries)
			must(t, err)
			t.Logf("a sweep removed %d rows in %v", n, time.Since(start))
			if n < 200_000 {
				t.Errorf("%d rows were removed", n)
			}
		})
		t.Logf("a Get meanwhile took at most %v", slowest)
	})
}

// meanwhile returns how long a Get took at most while work was done.
func meanwhile(t *testing.T, s *store, work func()) (slowest time.Duration) {
	t.Helper()
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			start := time.Now()
			if _, _, err := s.Get(bounded(t), fmt.Sprintf("app1:%08d", i%1000*100+1)); err != nil {
				t.Error(err)
			}
			slowest = max(slowest, time.Since(start))
		}
	})
	work()
	close(stop)
	all.Wait()
	return slowest
}

// Faults of every kind, again and again.
func TestSoakLoadSurvivesEverything(t *testing.T) {
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	s := fresh(t, server, named("soaked"), func(o *options) {
		o.ConnectTimeout = 500 * time.Millisecond
		o.DSN = strings.Replace(o.DSN, server.Addr(), proxy.Addr(), 1)
	})
	l := startLoad(t, s, time.Second)
	for round := range 60 {
		switch round % 4 {
		case 0:
			proxy.Stall()
			time.Sleep(2 * time.Second)
			proxy.Heal(t)
		case 1:
			proxy.Reset()
		case 2:
			execute(t, beside(t, server.URL("")), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'soaked'`)
		case 3:
			server.Kill(t)
			server.Start(t)
		}
		l.goesOn(t)
	}
	l.end(t)
}
