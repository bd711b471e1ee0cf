package database

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	"github.com/jackc/pgx/v5"
)

// patience only ends what hangs.
const patience = 30 * time.Second

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bounded is a context for one step of a test.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// settled are the options of a store with the defaults of the schema.
func settled(dsn string, change ...func(*options)) options {
	o := options{
		DSN: dsn, Table: "cache", LockTable: "cache_locks", CreateTables: true, Pooler: "none",
		MaxConnections: 10, ConnectTimeout: 5 * time.Second, SweepInterval: time.Hour,
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

var tables atomic.Int64

// ownTables gives a store tables of its own.
func ownTables(o *options) {
	n := tables.Add(1)
	o.Table, o.LockTable = fmt.Sprintf("cache_%d", n), fmt.Sprintf("locks_%d", n)
}

// opened opens a store that is closed with the test.
func opened(t testing.TB, o options) *store {
	t.Helper()
	s, err := open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// fresh is a store with tables of its own.
func fresh(t testing.TB, server *servertest.Postgres, change ...func(*options)) *store {
	t.Helper()
	return opened(t, settled(server.URL(""), append([]func(*options){ownTables}, change...)...))
}

// twin is another store on the same tables.
func twin(t testing.TB, s *store, dsn string, change ...func(*options)) *store {
	t.Helper()
	same := func(o *options) { o.Table, o.LockTable = string(s.settings.table), string(s.locks) }
	return opened(t, settled(dsn, append([]func(*options){same}, change...)...))
}

// beside is a connection that knows nothing of the store.
func beside(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(bounded(t), dsn)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func execute(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(bounded(t), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// ask returns the one value that a query answers with.
func ask[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) (answer T) {
	t.Helper()
	if err := conn.QueryRow(bounded(t), sql, args...).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

// eventually waits until the answer is yes.
func eventually(t testing.TB, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !yes(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v and still not: %s", patience, what)
		}
	}
}

func (s *store) mustSet(t testing.TB, key, value string, ttl time.Duration) {
	t.Helper()
	must(t, s.Set(bounded(t), key, []byte(value), ttl))
}

// holds fails unless key has value; "" stands for a miss.
func (s *store) holds(t testing.TB, key, value string) {
	t.Helper()
	got, ok, err := s.Get(bounded(t), key)
	must(t, err)
	if string(got) != value || ok != (value != "") {
		t.Errorf("Get(%q) = %q, %t; want %q", key, got, ok, value)
	}
}

func lease(strategy, key, owner string, d time.Duration) sdk.LeaseRequest {
	r := sdk.LeaseRequest{Strategy: strategy, Key: key, Owner: owner, Lease: d}
	if strategy == sdk.StrategyLease {
		r.Clock = sdk.DriverClock
	}
	return r
}

// takes fails unless the lease is granted.
func (s *store) takes(t testing.TB, r sdk.LeaseRequest) sdk.LeaseGrant {
	t.Helper()
	g, err := s.AcquireLease(bounded(t), r)
	must(t, err)
	if !g.OK {
		t.Fatalf("%s of %q for %s was refused", r.Strategy, r.Key, r.Owner)
	}
	return g
}

// refuses fails if the lease is granted.
func (s *store) refuses(t testing.TB, r sdk.LeaseRequest) sdk.LeaseGrant {
	t.Helper()
	g, err := s.AcquireLease(bounded(t), r)
	must(t, err)
	if g.OK {
		t.Fatalf("%s of %q for %s was granted", r.Strategy, r.Key, r.Owner)
	}
	return g
}

// gives fails unless the release says what it should.
func (s *store) gives(t testing.TB, r sdk.LeaseRequest, want bool) {
	t.Helper()
	if released, err := s.ReleaseLease(bounded(t), r); err != nil || released != want {
		t.Fatalf("release of %q by %s = %t, %v; want %t", r.Key, r.Owner, released, err, want)
	}
}
