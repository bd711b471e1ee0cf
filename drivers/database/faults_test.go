package database

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// An op is an operation on key "target", and what it leaves there if it was
// carried out once on "7".
type op struct {
	name   string
	run    func(context.Context, *store) error
	leaves string
}

var onceOps = []op{
	{"Increment", func(ctx context.Context, s *store) error { _, err := s.Increment(ctx, "target", 1, 0); return err }, "8"},
	{"Replace", func(ctx context.Context, s *store) error {
		_, err := s.Replace(ctx, "target", []byte("9"), 0)
		return err
	}, "9"},
	{"Pull", func(ctx context.Context, s *store) error { _, _, err := s.Pull(ctx, "target"); return err }, ""},
	{"Add", func(ctx context.Context, s *store) error { _, err := s.Add(ctx, "target", []byte("9"), 0); return err }, "7"},
}

var repeatableOps = []op{
	{"Set", func(ctx context.Context, s *store) error { return s.Set(ctx, "target", []byte("9"), 0) }, "9"},
	{"SetMany", func(ctx context.Context, s *store) error {
		return s.SetMany(ctx, []sdk.Entry{{Key: "target", Value: []byte("9")}})
	}, "9"},
	{"Delete", func(ctx context.Context, s *store) error { _, err := s.Delete(ctx, "target"); return err }, ""},
	{"DeleteMany", func(ctx context.Context, s *store) error { _, err := s.DeleteMany(ctx, []string{"target"}); return err }, ""},
	{"CompareDelete", func(ctx context.Context, s *store) error {
		_, err := s.CompareDelete(ctx, "target", []byte("7"))
		return err
	}, ""},
	{"Touch", func(ctx context.Context, s *store) error { _, err := s.Touch(ctx, "target", time.Hour); return err }, "7"},
	{"Clear", func(ctx context.Context, s *store) error { _, _, err := s.Clear(ctx, "target", nil); return err }, ""},
	{"AcquireLease", func(ctx context.Context, s *store) error {
		g, err := s.AcquireLease(ctx, lease(exclusive, "target", "me", time.Hour))
		if err == nil && !g.OK {
			err = errors.New("refused")
		}
		return err
	}, "7"},
}

var readOps = []op{
	{"Get", func(ctx context.Context, s *store) error { _, _, err := s.Get(ctx, "target"); return err }, "7"},
	{"GetMany", func(ctx context.Context, s *store) error { _, err := s.GetMany(ctx, []string{"target"}); return err }, "7"},
	{"TTL", func(ctx context.Context, s *store) error { _, _, err := s.TTL(ctx, "target"); return err }, "7"},
	{"Keys", func(ctx context.Context, s *store) error { _, _, err := s.Keys(ctx, "target", nil, 10); return err }, "7"},
}

// behindProxy is a store whose way to the server breaks on the test's word,
// and one beside it on the same tables.
func behindProxy(t *testing.T, server *servertest.Postgres) (*servertest.Proxy, *store, *store) {
	t.Helper()
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	clear := fresh(t, server)
	s := twin(t, clear, strings.Replace(server.URL(""), server.Addr(), proxy.Addr(), 1))
	for _, o := range [][]op{onceOps, repeatableOps, readOps} {
		for _, op := range o {
			op.run(bounded(t), s) // prepares its statement
		}
	}
	return proxy, s, clear
}

func TestCutAnswers(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	proxy, s, beside := behindProxy(t, server)

	for _, op := range onceOps {
		t.Run(op.name+" is not repeated when its answer is lost", func(t *testing.T) {
			beside.mustSet(t, "target", "7", 0)
			trap := proxy.CutReplies("target", 0)
			err := op.run(bounded(t), s)
			proxy.Heal(t)
			if !errors.Is(err, sdk.ErrMaybeApplied) {
				t.Errorf("got %v; want ErrMaybeApplied", err)
			}
			if trap.Count() != 1 {
				t.Errorf("it was sent %d times", trap.Count())
			}
			beside.holds(t, "target", op.leaves)
		})
	}
	for _, op := range append(append([]op{}, repeatableOps...), readOps...) {
		t.Run(op.name+" is repeated when its answer is lost", func(t *testing.T) {
			beside.mustSet(t, "target", "7", 0)
			trap := proxy.CutNextReply("target", 0)
			err := op.run(bounded(t), s)
			proxy.Heal(t)
			if err != nil || trap.Count() != 1 {
				t.Errorf("got %v after %d lost answers", err, trap.Count())
			}
			beside.holds(t, "target", op.leaves)
		})
	}
	for _, op := range repeatableOps {
		t.Run(op.name+" says that it may have been applied when every answer is lost", func(t *testing.T) {
			beside.mustSet(t, "target", "7", 0)
			proxy.CutReplies("target", 0)
			err := op.run(bounded(t), s)
			proxy.Heal(t)
			if !errors.Is(err, sdk.ErrMaybeApplied) || !errors.Is(err, sdk.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, op := range readOps {
		t.Run(op.name+" never says so", func(t *testing.T) {
			proxy.CutReplies("target", 0)
			err := op.run(bounded(t), s)
			proxy.Heal(t)
			if errors.Is(err, sdk.ErrMaybeApplied) || !errors.Is(err, sdk.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a release whose answer is lost is a release", func(t *testing.T) {
		for _, strategy := range []string{leased, exclusive} {
			beside.takes(t, lease(strategy, "target lock", "me", time.Hour))
			proxy.CutNextReply("target", 0)
			released, err := s.ReleaseLease(bounded(t), lease(strategy, "target lock", "me", 0))
			proxy.Heal(t)
			if err != nil || strategy == exclusive && !released {
				t.Errorf("%s: %t, %v", strategy, released, err)
			}
			beside.takes(t, lease(strategy, "target lock", "next", time.Microsecond))
		}
	})
}

func TestCallersThatGiveUp(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{})
	proxy, s, beside := behindProxy(t, server)
	for i, op := range append(append(append([]op{}, onceOps...), repeatableOps...), readOps...) {
		t.Run(op.name+" ends with its caller's context", func(t *testing.T) {
			beside.mustSet(t, "target", "7", 0)
			trap := proxy.HoldReplies("target")
			ctx, cancel := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() { result <- op.run(ctx, s) }()
			<-trap.Sprung() // it has been executed
			cancel()
			err := <-result
			proxy.Heal(t)
			reads := i >= len(onceOps)+len(repeatableOps)
			if !errors.Is(err, context.Canceled) || errors.Is(err, sdk.ErrMaybeApplied) == reads {
				t.Errorf("got %v", err)
			}
		})
	}
}

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
		waiters := func(n int) {
			eventually(t, "sessions wait for rows", func() bool {
				return ask[int](t, conn, `SELECT count(*) FROM pg_locks WHERE NOT granted`) == n
			})
		}
		ours, rivals := make(chan error, 1), make(chan error, 1)
		go func() {
			ours <- s.SetMany(bounded(t), []sdk.Entry{{Key: "c", Value: []byte("ours")}, {Key: "b", Value: []byte("ours")}, {Key: "a", Value: []byte("ours")}})
		}()
		waiters(1) // the store, which has a, for b
		go func() { rivals <- write(rival, "a") }()
		waiters(2) // the rival, which has c, for a
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

func TestErrorsHoldNoSecretAndNoValue(t *testing.T) {
	t.Parallel()
	const password, value = `pa:ss@wo/rd?#%"' \`, "the-value-nobody-may-see"
	server := servertest.StartPostgres(t, servertest.PostgresOptions{
		Access: []string{"local all all trust", "host all all 127.0.0.1/32 scram-sha-256"},
	})
	admin := beside(t, server.SocketURL(""))
	execute(t, admin, `CREATE ROLE app LOGIN PASSWORD '`+strings.ReplaceAll(password, `'`, `''`)+`'; GRANT CREATE ON SCHEMA public TO app`)
	dsn := func(password string) string {
		u, err := url.Parse(server.URL(""))
		must(t, err)
		u.User = url.UserPassword("app", password)
		return u.String()
	}
	right := opened(t, settled(dsn(password)))
	right.mustSet(t, "k", value, 0)
	option := twin(t, right, dsn("not this one"), func(o *options) { o.Password = password })
	option.holds(t, "k", value)

	check := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
			return
		}
		for _, secret := range []string{password, url.QueryEscape(password), url.PathEscape(password), value, "nobody"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error holds %q: %v", what, secret, err)
			}
		}
	}
	wrong := opened(t, settled(dsn(password+"x")))
	_, _, err := wrong.Get(bounded(t), "k")
	check("a wrong password", err)
	if !errors.Is(err, sdk.ErrUnavailable) || !strings.Contains(err.Error(), "28P01") {
		t.Errorf("a wrong password: %v", err)
	}
	_, err = right.Increment(bounded(t), "k", 1, 0)
	check("a value that is no integer", err)
	execute(t, admin, `ALTER TABLE cache ADD CHECK (length(value) < 10) NOT VALID`)
	check("a value that breaks a constraint", right.Set(bounded(t), "k", []byte(value), 0))
	check("a batch that breaks a constraint", right.SetMany(bounded(t), []sdk.Entry{{Key: "k", Value: []byte(value)}, {Key: "l", Value: []byte(value)}}))
	execute(t, admin, `DROP TABLE cache`)
	check("a missing table", right.Set(bounded(t), "k", []byte(value), 0))
	server.Stop(t)
	check("a stopped server", right.Set(bounded(t), "k", []byte(value), 0))
	stats, _ := right.Stats(bounded(t))
	for _, stat := range stats {
		if strings.Contains(stat.Value+stat.Warning, password) {
			t.Errorf("%s holds the password", stat.Name)
		}
	}
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
