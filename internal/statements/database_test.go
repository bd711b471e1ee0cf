package statements

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/jackc/pgx/v5"
)

// limited is a store with a lock table of its own and a role of its own, from
// which a test takes rights.
func limited(t *testing.T, conn *pgx.Conn, name string) *cache.CacheRepository {
	t.Helper()
	execute(t, conn, `CREATE ROLE `+name+` LOGIN`)
	atEnd(t, conn, `DROP OWNED BY `+name+` CASCADE`, `DROP ROLE `+name)
	execute(t, conn, `GRANT CREATE, USAGE ON SCHEMA app TO `+name)
	dsn, err := url.Parse(postgresServer(t).URL(""))
	if err != nil {
		t.Fatal(err)
	}
	dsn.User = url.User(name)
	m := open(t, cache.Config{Default: "main", Stores: map[string]cache.StoreConfig{"main": {
		Driver: "database", Timeout: hangGuard,
		Options: map[string]any{"dsn": dsn.String(), "table": "app." + name + "_cache", "lock_table": "app." + name + "_locks"},
	}}})
	return store(t, m, "main")
}

func TestS5AndS30ADatabaseLockIsARowWithThePrefix(t *testing.T) {
	t.Parallel()
	main, other := on(t, "database")
	conn, key := postgres(t), t.Name()
	for _, c := range []struct {
		opts []cache.LockOption
		want time.Duration
	}{
		{nil, 10 * time.Second},
		{[]cache.LockOption{cache.LockTimeout(0)}, 10 * time.Second},
		{[]cache.LockOption{cache.LockTimeout(time.Hour)}, time.Hour},
	} {
		start := time.Now()
		err := main.Lock(key, c.opts...).Do(t.Context(), func(context.Context) error {
			var owner string
			var expiry time.Time
			if err := conn.QueryRow(t.Context(), `SELECT owner, expiry FROM `+lockTable+` WHERE key = $1`, "p:"+key).Scan(&owner, &expiry); err != nil {
				t.Fatal(err)
			}
			if least := start.Add(c.want); owner == "" || expiry.Before(least.Add(-time.Millisecond)) || expiry.After(time.Now().Add(c.want)) {
				t.Errorf("the row is %q's for %v from the start; want %v", owner, expiry.Sub(start), c.want)
			}
			enters(t, other, key)
			return nil
		})
		if n := rows(t, conn, "p:"+key); n != 0 || err != nil {
			t.Errorf("after Do %d rows are left, %v", n, err)
		}
	}
	unique := ask[bool](t, conn, `SELECT EXISTS (SELECT FROM pg_index WHERE indrelid = $1::regclass AND indisunique)`, lockTable)
	if !unique {
		t.Error("the lock table has no unique index")
	}
}

func TestS57ALeaseReachesAllProcessesThatShareTheTable(t *testing.T) {
	t.Parallel()
	c := hostConfig(t, "database", cache.LockConfig{})
	hosts := []*host{startHost(t, "crowd", c), startHost(t, "crowd", c)}
	for _, h := range hosts {
		h.expect("ready")
	}
	for _, h := range hosts {
		h.say("go")
	}
	for _, h := range hosts {
		h.expect("met 0, failed 0")
	}
}

func TestS58ASlowCallEatsIntoTheLease(t *testing.T) {
	t.Parallel()
	server := postgresServer(t)
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	c := hostConfig(t, "database", cache.LockConfig{})
	c.Stores["main"].Options["dsn"] = strings.Replace(server.URL(""), server.Addr(), proxy.Addr(), 1)
	m, conn := open(t, c), postgres(t)
	if err := m.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	enters(t, m, "warm")
	const delay, lease = 200 * time.Millisecond, time.Hour
	proxy.Latency(delay)
	defer proxy.Heal(t)
	err := m.Lock("k", cache.LockTimeout(lease)).Do(t.Context(), func(context.Context) error {
		expiry := ask[time.Time](t, conn, `SELECT expiry FROM `+lockTable+` WHERE key = $1`, t.Name()+":k")
		if left := time.Until(expiry); left > lease-delay {
			t.Errorf("of a lease of %v, %v are left when the block begins, %v after the attempt", lease, left, delay)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestS59NothingRenewsTheRow(t *testing.T) {
	t.Parallel()
	main, _ := on(t, "database")
	conn, key := postgres(t), t.Name()
	expiry := func() time.Time {
		return ask[time.Time](t, conn, `SELECT expiry FROM `+lockTable+` WHERE key = $1`, "p:"+key)
	}
	err := main.Lock(key, cache.LockTimeout(300*time.Millisecond)).Do(t.Context(), func(ctx context.Context) error {
		first := expiry()
		eventually(t, "the lease is over", func() bool { return time.Now().After(first) })
		if later := expiry(); !later.Equal(first) {
			t.Errorf("the expiry moved by %v", later.Sub(first))
		}
		return ctx.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

func TestS61ALateLeaverLeavesTheNextOnesRow(t *testing.T) {
	t.Parallel()
	c := hostConfig(t, "database", lasts(300*time.Millisecond))
	m, conn, key := open(t, c), postgres(t), t.Name()+":k"
	a := startHost(t, "holder", c)
	a.expect("inside")
	leave := hold(t, m.Lock("k", cache.LockTimeout(time.Hour)))
	owner := ask[string](t, conn, `SELECT owner FROM `+lockTable+` WHERE key = $1`, key)
	a.say("leave")
	a.expect("<nil>")
	if now := ask[string](t, conn, `SELECT owner FROM `+lockTable+` WHERE key = $1`, key); now != owner {
		t.Error("the row is another's after the first one left")
	}
	waits(t, m, "k")
	if err := leave(); err != nil {
		t.Error(err)
	}
}

func TestS62TheRowsTokenShowsNowhere(t *testing.T) {
	t.Parallel()
	conn := postgres(t)
	r := limited(t, conn, "s62")
	var owner string
	err := r.Lock("k").Do(t.Context(), func(ctx context.Context) error {
		owner = ask[string](t, conn, `SELECT owner FROM app.s62_locks`)
		execute(t, conn, `REVOKE DELETE ON app.s62_locks FROM s62`)
		if c, err := r.Capabilities(ctx); err != nil || strings.Contains(strings.Join(c.Operations, " "), owner) {
			t.Errorf("announced %v, %v", c, err)
		}
		return nil
	})
	if err == nil || owner == "" || strings.Contains(err.Error(), owner) {
		t.Errorf("a release that was refused: %v", err)
	}
}

func TestS63AndS64WhatTheDatabaseRefusesIsAnErrorAndNoWait(t *testing.T) {
	t.Parallel()
	conn := postgres(t)
	r := limited(t, conn, "s63")
	err := r.Lock("k").Do(t.Context(), func(context.Context) error {
		execute(t, conn, `REVOKE DELETE ON app.s63_locks FROM s63`)
		return nil
	})
	var named *cache.Error
	if !errors.As(err, &named) || named.Store != "main" || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("a release without the right to delete: %v", err)
	}
	for _, without := range []struct{ what, sql string }{
		{"the right to insert", `REVOKE INSERT ON app.s63_locks FROM s63`},
		{"the table", `ALTER TABLE app.s63_locks RENAME TO s63_elsewhere`},
	} {
		execute(t, conn, without.sql)
		if err := r.Lock("free").Do(t.Context(), mustNotRun(t)); err == nil || errors.Is(err, cache.ErrLockTimeout) {
			t.Errorf("an entry without %s: %v", without.what, err)
		}
	}
}

func TestS65LockAndTransactionKnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	main, _ := on(t, "database")
	conn, key, failed := postgres(t), t.Name(), errors.New("the block failed")
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `CREATE TEMPORARY TABLE s65 (n int) ON COMMIT PRESERVE ROWS`); err != nil {
		t.Fatal(err)
	}
	err = main.Lock(key).Do(t.Context(), func(ctx context.Context) error {
		if err := main.Set(ctx, key, 1, time.Hour); err != nil {
			t.Error(err)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO s65 VALUES (1)`); err != nil {
			t.Error(err)
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("Do: %v", err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Errorf("the caller's transaction after the block's error: %v", err)
	}
	if n := ask[int](t, conn, `SELECT count(*) FROM s65`); n != 1 {
		t.Errorf("%d rows were committed", n)
	}
	if ok, err := main.Has(t.Context(), key); !ok || err != nil {
		t.Errorf("the value: %t, %v", ok, err)
	}
	tx, err = conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leave := hold(t, main.Lock(key))
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if n := rows(t, conn, "p:"+key); n != 1 {
		t.Errorf("a rollback of the caller's left %d lock rows", n)
	}
	_ = leave()
}

func TestS60ATableWithoutTheConstraintIsRefused(t *testing.T) {
	t.Parallel()
	conn := postgres(t)
	execute(t, conn, `CREATE TABLE app.s60_locks (key text COLLATE "C" NOT NULL, strategy text COLLATE "C" NOT NULL,
		owner text COLLATE "C" NOT NULL, expiry timestamptz NOT NULL, fence bigint NOT NULL)`)
	atEnd(t, conn, `DROP TABLE app.s60_locks`)
	c := hostConfig(t, "database", cache.LockConfig{})
	c.Stores["main"].Options["lock_table"] = "app.s60_locks"
	err := open(t, c).Lock("k").Do(t.Context(), mustNotRun(t))
	if err == nil || !strings.Contains(err.Error(), "unique index") {
		t.Errorf("Do: %v", err)
	}
}
