package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

const secret = "s3cr3t/w@rd:%"

func TestOptionsThatCannotWorkAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Driver.Open(t.Context(), map[string]any{
		"dsn": "host", "table": "My Cache", "lock_table": `"`, "max_connections": 0, "connect_timeout": "0s",
		"sweep_interval": "-1s", "listen_url": "also none",
	})
	var refusal *sdk.OptionsError
	if !errors.As(err, &refusal) || !errors.Is(err, sdk.ErrInvalidOptions) {
		t.Fatalf("opened, or refused for another reason: %v", err)
	}
	for _, key := range []string{"dsn", "table", "lock_table", "max_connections", "connect_timeout", "sweep_interval", "listen_url"} {
		if !strings.Contains(err.Error(), key+": ") {
			t.Errorf("the error does not speak of %s: %v", key, err)
		}
	}
}

func TestOptionsThatExcludeEachOtherAreRefused(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]map[string]any{
		"one table for both":    {"dsn": "postgres://h/d", "table": "t", "lock_table": `"t"`},
		"an unknown pooler":     {"dsn": "postgres://h/d", "pooler": "session"},
		"no dsn":                {},
		"a number without unit": {"dsn": "postgres://h/d", "sweep_interval": 30},
	} {
		if _, err := Driver.Open(t.Context(), options); !errors.Is(err, sdk.ErrInvalidOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsOfOptionsRepeatNoSecret(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"postgres://u:" + secret + "@h:1/d", // not encoded: the password ends at its own @
		"postgres://u:" + secret,
		"postgres://u@h:port" + secret + "/d",
		"postgres://u@h/d?sslmode=" + secret,
		"host=h password=" + secret + " '",
		"host=h sslmode=" + secret,
		"host=h port=" + secret,
		"host=h passw0rd " + secret,
	} {
		for _, options := range []map[string]any{{"dsn": dsn}, {"dsn": "postgres://h/d", "listen_url": dsn}} {
			_, err := Driver.Open(t.Context(), options)
			for _, word := range []string{secret, "s3cr3t", "w@rd", "rd:%"} {
				if err != nil && strings.Contains(err.Error(), word) {
					t.Errorf("%q: the error holds %q: %v", dsn, word, err)
				}
			}
		}
	}
}

func TestAMissingCertificateIsNamed(t *testing.T) {
	t.Parallel()
	_, err := Driver.Open(t.Context(), map[string]any{"dsn": "postgres://h/d?sslmode=verify-full&sslrootcert=/nowhere/ca.pem"})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/ca.pem") {
		t.Errorf("the error does not name the file: %v", err)
	}
}

func TestThePasswordOptionReplacesTheOneOfTheConnectionString(t *testing.T) {
	t.Parallel()
	s := opened(t, settled("postgres://u:other@h1,h2/d", func(o *options) { o.Password = secret }))
	if got := s.pool.Config().ConnConfig.Password; got != secret {
		t.Error("the password of dsn is used")
	}
	if got := s.settings.listen.Password; got != secret {
		t.Error("the password of dsn is used for listening")
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	in, err := Driver.Open(t.Context(), map[string]any{
		"dsn": "postgres://u:" + "pass" + "@db.example:5433/shop?search_path=app", "lock_table": `app."My Locks"`,
	})
	must(t, err)
	defer in.Close(context.Background())
	tr := in.Traits()
	if tr.Granularity != time.Millisecond || tr.LockStrategy != sdk.StrategyLease || tr.LockScope != sdk.ScopeCluster ||
		tr.Class != sdk.ClassOverlap || !tr.ReleaseCompares || len(tr.Withdrawn) != 0 {
		t.Errorf("traits %+v", tr)
	}
	const want = `postgresql db.example:5433 database "shop" search path app table "cache" locks "app"."My Locks"`
	if tr.Space != want {
		t.Errorf("space %s\nwant  %s", tr.Space, want)
	}
}

func TestSpacesDifferWhereDataDoes(t *testing.T) {
	t.Parallel()
	spaces := map[string]string{}
	for _, o := range []options{
		settled("postgres://h/d"),
		settled("postgres://h:5433/d"),
		settled("postgres://h/other"),
		settled("host=/run/postgresql dbname=d"),
		settled("postgres://h,h2/d"),
		settled("postgres://h/d", func(o *options) { o.Table = "c2" }),
		settled("postgres://h/d", func(o *options) { o.LockTable = "l2" }),
	} {
		space := opened(t, o).Traits().Space
		if other, taken := spaces[space]; taken {
			t.Errorf("%s and %s share the space %s", o.DSN, other, space)
		}
		spaces[space] = o.DSN
	}
	if a, b := opened(t, settled("postgres://u:p@h/d")), opened(t, settled("host=h dbname=d user=other")); a.space != b.space {
		t.Errorf("one database has two spaces: %s, %s", a.space, b.space)
	}
}

// A server that accepts and never answers would hold up a store that speaks to
// it while opening.
func TestOpeningConnectsToNothing(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	contacts := make(chan net.Conn, 1)
	go func() {
		if conn, err := silent.Accept(); err == nil {
			contacts <- conn
		}
	}()
	s := opened(t, settled(fmt.Sprintf("postgres://u@%s/d?sslmode=disable", silent.Addr())))
	select {
	case <-contacts:
		t.Error("the store connected while it opened")
	default:
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := s.Get(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), silent.Addr().String()) {
		t.Errorf("a call to a silent server: %v", err)
	}
	(<-contacts).Close()
}
