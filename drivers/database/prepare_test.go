package database

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5/pgproto3"
)

func TestFirstCall(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, servertest.PostgresOptions{Settings: []string{"max_connections = 200"}})
	admin := beside(t, server.URL(""))
	database := func(t *testing.T, name, more string) string {
		execute(t, admin, "CREATE DATABASE "+name+" "+more)
		return server.URL(name)
	}

	t.Run("from many processes and stores at once creates the tables once", func(t *testing.T) {
		dsn := database(t, "cold", "")
		const processes, stores = 6, 16
		var waits []func() error
		for range processes {
			waits = append(waits, inRole(t, "count", dsn))
		}
		var all sync.WaitGroup
		for range stores {
			s := opened(t, settled(dsn, func(o *options) { o.MaxConnections = 2 }))
			all.Go(func() {
				if err := countFromCold(bounded(t), s); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, wait := range waits {
			must(t, wait())
		}
		conn := beside(t, dsn)
		if got := ask[string](t, conn, `SELECT convert_from(value, 'UTF8') FROM cache`); got != "1100" {
			t.Errorf("22 × 50 steps gave %s", got)
		}
		if n := ask[int](t, conn, `SELECT count(*) FROM pg_indexes WHERE tablename IN ('cache', 'cache_locks')`); n != 4 {
			t.Errorf("there are %d indexes; want 4", n)
		}
	})

	t.Run("uses quoted names with a schema", func(t *testing.T) {
		dsn := database(t, "quoted", "")
		conn := beside(t, dsn)
		execute(t, conn, `CREATE SCHEMA app`)
		s := opened(t, settled(dsn, func(o *options) { o.Table, o.LockTable = `"Cached ""Things"""`, `app."My Locks"` }))
		s.mustSet(t, "k", "v", 0)
		s.holds(t, "k", "v")
		s.takes(t, lease(sdk.StrategyLease, "p:k", "me", patience))
		if got := ask[string](t, conn, `SELECT key || owner FROM app."My Locks" WHERE expiry > now()`); got != "p:kme" {
			t.Errorf("the lock's row says %s", got)
		}
		if n := ask[int](t, conn, `SELECT count(*) FROM "Cached ""Things"""`); n != 1 {
			t.Errorf("%d rows", n)
		}
		s.gives(t, lease(sdk.StrategyLease, "p:k", "me", 0), true)
		if n := ask[int](t, conn, `SELECT count(*) FROM app."My Locks"`); n != 0 {
			t.Errorf("%d rows after the release", n)
		}
	})

	t.Run("makes the table of the entries unlogged, never that of the locks", func(t *testing.T) {
		dsn := database(t, "fast", "")
		s := opened(t, settled(dsn, func(o *options) { o.Unlogged = true }))
		must(t, s.Ping(bounded(t)))
		const persistence = `SELECT relpersistence::text FROM pg_class WHERE relname = $1`
		conn := beside(t, dsn)
		if got := ask[string](t, conn, persistence, "cache") + ask[string](t, conn, persistence, "cache_locks"); got != "up" {
			t.Errorf("entries and locks are %q; want u and p", got)
		}
	})

	t.Run("is happy with tables that exist and a role that may create none", func(t *testing.T) {
		dsn := database(t, "granted", "")
		must(t, opened(t, settled(dsn)).Ping(bounded(t)))
		conn := beside(t, dsn)
		execute(t, conn, `CREATE ROLE clerk LOGIN`)
		execute(t, conn, `GRANT SELECT, INSERT, UPDATE, DELETE ON cache, cache_locks TO clerk`)
		s := opened(t, settled(strings.Replace(dsn, "postgres@", "clerk@", 1), func(o *options) { o.CreateTables = false }))
		s.mustSet(t, "k", "v", 0)
		s.takes(t, lease(sdk.StrategyExclusive, "k", "me", patience))
		if _, err := s.Stats(bounded(t)); err != nil {
			t.Error(err)
		}
	})

	refusals := []struct {
		name, database, sql string
		change              func(*options)
		words               string
	}{
		{"a database that is not UTF-8", "ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'", "", nil, "encoding LATIN1"},
		{"a schema that is not there", "", "", func(o *options) { o.Table = "nowhere.cache" }, "create the schema"},
		{"missing tables, with create_tables off", "", "", func(o *options) { o.CreateTables = false }, "create_tables is off"},
		{"an entry table without a unique index", "",
			`CREATE TABLE cache (key text COLLATE "C" NOT NULL, value bytea NOT NULL, expiry timestamptz)`, nil, "no unique index on (key)"},
		{"a lock table whose unique index leaves the strategy out", "",
			`CREATE TABLE cache_locks (key text COLLATE "C" PRIMARY KEY, strategy text COLLATE "C", owner text COLLATE "C", expiry timestamptz, fence bigint)`,
			nil, "no unique index on (key, strategy)"},
		{"a unique index for some rows only", "",
			`CREATE TABLE cache (key text COLLATE "C" NOT NULL, value bytea NOT NULL, expiry timestamptz); CREATE UNIQUE INDEX ON cache (key) WHERE expiry IS NULL`,
			nil, "no unique index"},
		{"a unique index on an expression", "",
			`CREATE TABLE cache (key text COLLATE "C" NOT NULL, value bytea NOT NULL, expiry timestamptz); CREATE UNIQUE INDEX ON cache (lower(key))`,
			nil, "no unique index"},
		{"a unique index on more columns", "",
			`CREATE TABLE cache (key text COLLATE "C" NOT NULL, value bytea NOT NULL, expiry timestamptz, UNIQUE (key, expiry))`, nil, "no unique index"},
		{"a constraint that is checked at the commit", "",
			`CREATE TABLE cache (key text COLLATE "C" NOT NULL UNIQUE DEFERRABLE, value bytea NOT NULL, expiry timestamptz)`, nil, "no unique index"},
		{"keys of another collation", "",
			`CREATE TABLE cache (key text PRIMARY KEY, value bytea NOT NULL, expiry timestamptz)`, nil, `no column key text COLLATE "C"`},
		{"a table of somebody else's", "",
			`CREATE TABLE cache (key varchar(255) PRIMARY KEY, value text NOT NULL, expiration int NOT NULL)`, nil, "no column key text"},
		{"a view", "", `CREATE TABLE c (key text COLLATE "C" PRIMARY KEY, value bytea, expiry timestamptz); CREATE VIEW cache AS SELECT * FROM c`, nil, "is no table"},
		{"an unlogged lock table", "",
			`CREATE UNLOGGED TABLE cache_locks (key text COLLATE "C", strategy text COLLATE "C", owner text COLLATE "C", expiry timestamptz, fence bigint, PRIMARY KEY (strategy, key))`,
			nil, "UNLOGGED"},
	}
	for i, r := range refusals {
		t.Run("refuses "+r.name, func(t *testing.T) {
			own := "refused_" + string(rune('a'+i))
			dsn := server.URL("") + "&search_path=" + own
			if r.database != "" {
				dsn = database(t, own, r.database)
			} else {
				execute(t, admin, "CREATE SCHEMA "+own)
			}
			if r.sql != "" {
				execute(t, beside(t, dsn), r.sql)
			}
			var changes []func(*options)
			if r.change != nil {
				changes = append(changes, r.change)
			}
			s := opened(t, settled(dsn, changes...))
			for range 2 { // a refusal is no state: the next call looks again
				_, _, err := s.Get(bounded(t), "k")
				if err == nil || !strings.Contains(err.Error(), r.words) {
					t.Errorf("the first call gives %v; want words about %q", err, r.words)
				}
				if errors.Is(err, sdk.ErrUnavailable) {
					t.Errorf("it passes for an outage: %v", err)
				}
			}
		})
	}

	t.Run("refuses to create tables that the role may not, and says so", func(t *testing.T) {
		dsn := database(t, "forbidden", "")
		execute(t, beside(t, dsn), `CREATE ROLE stranger LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC`)
		s := opened(t, settled(strings.Replace(dsn, "postgres@", "stranger@", 1)))
		if err := s.Ping(bounded(t)); err == nil || !strings.Contains(err.Error(), "42501") || !strings.Contains(err.Error(), "docs/database.md") {
			t.Errorf("got %v", err)
		}
	})

	t.Run("that nobody waits for any more goes on for the next", func(t *testing.T) {
		dsn := database(t, "patient", "")
		conn := beside(t, dsn)
		tx, err := conn.Begin(bounded(t))
		must(t, err)
		if _, err := tx.Exec(bounded(t), `SELECT pg_advisory_xact_lock($1)`, creationLock); err != nil {
			t.Fatal(err)
		}
		s := opened(t, settled(dsn))
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, _, err := s.Get(ctx, "k")
			gone <- err
		}()
		other := beside(t, dsn)
		eventually(t, "the store waits for the lock", func() bool {
			return ask[int](t, other, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'`) == 1
		})
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled call: %v", err)
		}
		must(t, tx.Rollback(bounded(t)))
		s.holds(t, "k", "")
	})
}

func TestAServerThatClaimsToBeRedshiftIsRefused(t *testing.T) {
	t.Parallel()
	dsn := fakeServer(t, "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.12103", "80002")
	s := opened(t, settled(dsn))
	_, err := s.AcquireLease(bounded(t), lease(sdk.StrategyLease, "k", "me", patience))
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "Redshift") {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatIsTooOldIsRefused(t *testing.T) {
	t.Parallel()
	s := opened(t, settled(fakeServer(t, "PostgreSQL 12.22 on x86_64-pc-linux-gnu, compiled by gcc", "120022")))
	if err := s.Ping(bounded(t)); !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "PostgreSQL 12.22") {
		t.Errorf("got %v", err)
	}
}

// fakeServer speaks enough of the protocol to say what it claims to be.
func fakeServer(t *testing.T, version, number string) (dsn string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go pretend(conn, version, number)
		}
	}()
	return "postgres://u@" + listener.Addr().String() + "/d?sslmode=disable"
}

func pretend(conn net.Conn, version, number string) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for b.Flush() == nil {
		message, err := b.Receive()
		if err != nil {
			return
		}
		query, ok := message.(*pgproto3.Query)
		if !ok {
			return
		}
		answer := []string{version}
		if strings.Contains(query.String, "server_version_num") {
			answer = []string{number, "UTF8"}
		}
		sayRow(b, answer)
	}
}

func sayRow(b *pgproto3.Backend, values []string) {
	fields := make([]pgproto3.FieldDescription, len(values))
	row := make([][]byte, len(values))
	for i, value := range values {
		fields[i] = pgproto3.FieldDescription{Name: []byte("f"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}
		row[i] = []byte(value)
	}
	if len(values) > 1 {
		fields[0].DataTypeOID = 23
	}
	b.Send(&pgproto3.RowDescription{Fields: fields})
	b.Send(&pgproto3.DataRow{Values: row})
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
}
