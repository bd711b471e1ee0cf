package database

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

// A load runs until it is stopped, and keeps account of what was promised.
type load struct {
	store    *store
	deadline time.Duration
	stop     chan struct{}
	all      sync.WaitGroup
	lasts    []atomic.Int64 // by writer: the last step that was acknowledged
	tried    []atomic.Int64

	counted, maybeCounted  atomic.Int64
	done, failed           atomic.Int64
	overdue, wrong, locked atomic.Int64
}

const loadWriters = 8

func startLoad(t *testing.T, s *store, deadline time.Duration) *load {
	t.Helper()
	must(t, s.Ping(bounded(t)))
	l := &load{store: s, deadline: deadline, stop: make(chan struct{})}
	l.lasts, l.tried = make([]atomic.Int64, loadWriters), make([]atomic.Int64, loadWriters)
	for w := range loadWriters {
		l.all.Go(func() { l.forever(func(ctx context.Context, n int64) error { return l.write(ctx, w, n) }) })
		l.all.Go(func() { l.forever(func(ctx context.Context, _ int64) error { return l.read(ctx, w) }) })
		l.all.Go(func() { l.forever(func(ctx context.Context, _ int64) error { return l.count(ctx) }) })
		l.all.Go(func() { l.forever(func(ctx context.Context, n int64) error { return l.lock(ctx, fmt.Sprint(w, n)) }) })
	}
	return l
}

func (l *load) forever(step func(ctx context.Context, n int64) error) {
	for n := int64(1); ; n++ {
		select {
		case <-l.stop:
			return
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), l.deadline)
		start := time.Now()
		err := step(ctx, n)
		cancel()
		if time.Since(start) > l.deadline+10*time.Second {
			l.overdue.Add(1)
		}
		if err != nil {
			l.failed.Add(1)
			time.Sleep(time.Millisecond)
			continue
		}
		l.done.Add(1)
	}
}

func (l *load) write(ctx context.Context, w int, n int64) error {
	l.tried[w].Store(n)
	err := l.store.Set(ctx, fmt.Sprint("w", w), sdk.FormatInteger(n), 0)
	if err == nil {
		l.lasts[w].Store(n)
	}
	return err
}

// read fails the load if a value is older than what was acknowledged before.
func (l *load) read(ctx context.Context, w int) error {
	atLeast := l.lasts[w].Load()
	value, _, err := l.store.Get(ctx, fmt.Sprint("w", w))
	if n, _ := sdk.ParseInteger(value); err == nil && n < atLeast {
		l.wrong.Add(1)
	}
	return err
}

func (l *load) count(ctx context.Context) error {
	_, err := l.store.Increment(ctx, "counter", 1, 0)
	switch {
	case err == nil:
		l.counted.Add(1)
	case errors.Is(err, sdk.ErrMaybeApplied):
		l.maybeCounted.Add(1)
	}
	return err
}

func (l *load) lock(ctx context.Context, owner string) error {
	g, err := l.store.AcquireLease(ctx, lease(exclusive, "lock", owner, time.Minute))
	if err != nil || !g.OK {
		return err
	}
	if l.locked.Add(1) != 1 {
		l.wrong.Add(1)
	}
	l.locked.Add(-1)
	for ctx.Err() == nil {
		if _, err = l.store.ReleaseLease(ctx, lease(exclusive, "lock", owner, 0)); err == nil {
			return nil
		}
	}
	return err
}

// goesOn waits until much has succeeded from now on.
func (l *load) goesOn(t *testing.T) {
	t.Helper()
	from := l.done.Load()
	eventually(t, "the callers carry on", func() bool { return l.done.Load() > from+500 })
}

// end stops the load and holds the store to its word.
func (l *load) end(t *testing.T) {
	t.Helper()
	close(l.stop)
	l.all.Wait()
	t.Logf("%d calls succeeded, %d failed; of the increments %d may have been applied", l.done.Load(), l.failed.Load(), l.maybeCounted.Load())
	if l.overdue.Load() > 0 || l.wrong.Load() > 0 {
		t.Errorf("%d calls outlasted their deadline, %d saw what must not be", l.overdue.Load(), l.wrong.Load())
	}
	for w := range l.lasts {
		value, ok, err := l.store.Get(bounded(t), fmt.Sprint("w", w))
		n, _ := sdk.ParseInteger(value)
		if err != nil || !ok || n < l.lasts[w].Load() || n > l.tried[w].Load() {
			t.Errorf("writer %d: %d is stored, %d was acknowledged last and %d tried, %v", w, n, l.lasts[w].Load(), l.tried[w].Load(), err)
		}
	}
	sum, err := l.store.Increment(bounded(t), "counter", 0, 0)
	must(t, err)
	if least := l.counted.Load(); sum < least || sum > least+l.maybeCounted.Load() {
		t.Errorf("the counter is %d; %d steps were acknowledged and %d may have been applied", sum, least, l.maybeCounted.Load())
	}
}

func TestLoadSurvives(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})

	t.Run("backends that are terminated", func(t *testing.T) {
		s := fresh(t, server, named("victim"))
		l := startLoad(t, s, patience)
		conn := beside(t, server.URL(""))
		for range 5 {
			execute(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'`)
			l.goesOn(t)
		}
		l.end(t)
	})

	t.Run("a network that stalls", func(t *testing.T) {
		proxy := servertest.StartProxy(t, "tcp", server.Addr())
		s := fresh(t, server, func(o *options) {
			o.DSN = strings.Replace(o.DSN, server.Addr(), proxy.Addr(), 1)
			o.ConnectTimeout = 500 * time.Millisecond
		})
		l := startLoad(t, s, 500*time.Millisecond)
		for range 2 {
			l.goesOn(t)
			proxy.Stall()
			from := l.failed.Load()
			eventually(t, "callers fail by their deadlines", func() bool { return l.failed.Load() > from+2*4*loadWriters })
			proxy.Heal(t)
		}
		l.goesOn(t)
		l.end(t)
	})

	t.Run("connections that are reset and refused", func(t *testing.T) {
		proxy := servertest.StartProxy(t, "tcp", server.Addr())
		s := fresh(t, server, func(o *options) { o.DSN = strings.Replace(o.DSN, server.Addr(), proxy.Addr(), 1) })
		l := startLoad(t, s, patience)
		for range 5 {
			proxy.Reset()
			l.goesOn(t)
		}
		proxy.Refuse()
		from := l.failed.Load()
		eventually(t, "callers fail at once", func() bool { return l.failed.Load() > from+100 })
		proxy.Heal(t)
		l.goesOn(t)
		l.end(t)
	})

	t.Run("restarts and a crash of the server", func(t *testing.T) {
		s := fresh(t, server)
		l := startLoad(t, s, patience)
		l.goesOn(t)
		server.Restart(t)
		l.goesOn(t)
		server.Kill(t)
		server.Start(t)
		l.goesOn(t)
		l.end(t)
	})
}
