package servertest

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// proxied is a Redis behind a proxy, over TCP and over a unix socket, with a
// client through the proxy and one beside it.
func proxied(t *testing.T, run func(t *testing.T, proxy *Proxy, through, beside *redis.Client)) {
	t.Helper()
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			server := StartRedis(t, RedisOptions{})
			target := server.Addr()
			if network == "unix" {
				target = server.Socket()
			}
			proxy := StartProxy(t, network, target)
			through, beside := redisClient(t, network, proxy.Addr()), redisClient(t, "tcp", server.Addr())
			if err := through.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			run(t, proxy, through, beside)
		})
	}
}

func TestProxyPassesEverythingOn(t *testing.T) {
	t.Parallel()
	proxied(t, func(t *testing.T, proxy *Proxy, through, beside *redis.Client) {
		large := strings.Repeat("0123456789abcdef", 1<<18)
		if err := through.Set(t.Context(), "k", large, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if got, err := through.Get(t.Context(), "k").Result(); got != large || err != nil {
			t.Fatalf("%d of %d bytes came back, %v", len(got), len(large), err)
		}
	})
}

func TestProxyCutsTheReplyToWhatTheServerHasExecuted(t *testing.T) {
	t.Parallel()
	proxied(t, func(t *testing.T, proxy *Proxy, through, beside *redis.Client) {
		trap := proxy.CutReplies("counter", 0)
		for want := int64(1); want <= 3; want++ {
			if err := through.Incr(t.Context(), "counter").Err(); err == nil {
				t.Fatal("the reply arrived")
			}
			if got, err := beside.Get(t.Context(), "counter").Int64(); got != want || err != nil {
				t.Fatalf("after %d cut replies the counter is %d, %v", want, got, err)
			}
		}
		if trap.Count() != 3 {
			t.Fatalf("the trap counts %d", trap.Count())
		}
		if err := through.Incr(t.Context(), "another").Err(); err != nil {
			t.Fatalf("another command: %v", err)
		}
		proxy.Heal(t)
		if got, err := through.Incr(t.Context(), "counter").Result(); got != 4 || err != nil {
			t.Fatalf("healed: %d, %v", got, err)
		}
	})
}

func TestProxyCutsOneReplyAfterSoManyBytes(t *testing.T) {
	t.Parallel()
	proxied(t, func(t *testing.T, proxy *Proxy, through, beside *redis.Client) {
		if err := through.Set(t.Context(), "k", strings.Repeat("v", 100_000), 0).Err(); err != nil {
			t.Fatal(err)
		}
		trap := proxy.CutNextReply("get", 50_000)
		if got, err := through.Get(t.Context(), "k").Result(); err == nil {
			t.Fatalf("%d bytes arrived without an error", len(got))
		}
		<-trap.Sprung()
		if got, err := through.Get(t.Context(), "k").Result(); len(got) != 100_000 || err != nil {
			t.Fatalf("the reply after it: %d bytes, %v", len(got), err)
		}
	})
}

func TestProxyHoldsRepliesUntilItHeals(t *testing.T) {
	t.Parallel()
	proxied(t, func(t *testing.T, proxy *Proxy, through, beside *redis.Client) {
		trap := proxy.HoldReplies("counter")
		reply := make(chan error, 1)
		go func() { reply <- through.Incr(context.Background(), "counter").Err() }()
		<-trap.Sprung()
		if got, err := beside.Get(t.Context(), "counter").Int(); got != 1 || err != nil {
			t.Fatalf("the reply is held and the counter is %d, %v", got, err)
		}
		select {
		case err := <-reply:
			t.Fatalf("the reply got through: %v", err)
		default:
		}
		proxy.Heal(t)
		if err := <-reply; err != nil {
			t.Fatal(err)
		}
	})
}

func TestAStalledProxyClosesNothingAndDeliversLater(t *testing.T) {
	t.Parallel()
	proxied(t, func(t *testing.T, proxy *Proxy, through, beside *redis.Client) {
		proxy.Stall()
		reply := make(chan error, 1)
		go func() { reply <- through.Set(context.Background(), "k", "v", 0).Err() }()
		select {
		case err := <-reply:
			t.Fatalf("answered: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
		if n, err := beside.Exists(t.Context(), "k").Result(); n != 0 || err != nil {
			t.Fatalf("%d arrived, %v", n, err)
		}
		proxy.Heal(t)
		if err := <-reply; err != nil {
			t.Fatal(err)
		}
	})
}

func TestProxyResetsOnceAndRefusesUntilItHeals(t *testing.T) {
	t.Parallel()
	proxied(t, func(t *testing.T, proxy *Proxy, through, beside *redis.Client) {
		conn := through.Conn()
		defer conn.Close()
		if err := conn.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		proxy.Reset()
		if err := conn.Ping(t.Context()).Err(); err == nil {
			t.Fatal("the connection survived a reset")
		}
		if err := until(within(t, time.Minute), func() error { return through.Ping(t.Context()).Err() }); err != nil {
			t.Fatalf("a new connection after a reset: %v", err)
		}
		proxy.Refuse()
		if n := proxy.Connections(); n != 0 {
			t.Fatalf("%d connections survived", n)
		}
		if err := through.Ping(t.Context()).Err(); err == nil {
			t.Fatal("the proxy refuses and answers")
		}
		proxy.Heal(t)
		if err := through.Ping(t.Context()).Err(); err != nil {
			t.Fatalf("healed: %v", err)
		}
	})
}

func TestProxyLatencyDelaysRepliesWithoutBoundingThem(t *testing.T) {
	t.Parallel()
	proxied(t, func(t *testing.T, proxy *Proxy, through, beside *redis.Client) {
		if err := through.Set(t.Context(), "k", strings.Repeat("v", 4<<20), 0).Err(); err != nil {
			t.Fatal(err)
		}
		const latency = 50 * time.Millisecond
		proxy.Latency(latency)
		start := time.Now()
		if got, err := through.Get(t.Context(), "k").Result(); len(got) != 4<<20 || err != nil {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		// Its 256 reads would take 13 s one after the other.
		if took := time.Since(start); took < latency || took > 10*time.Second {
			t.Fatalf("4 MiB took %v", took)
		}
	})
}

func TestProxyBoundsBandwidth(t *testing.T) {
	t.Parallel()
	proxied(t, func(t *testing.T, proxy *Proxy, through, beside *redis.Client) {
		proxy.Bandwidth(1 << 20)
		start := time.Now()
		if err := through.Set(t.Context(), "k", strings.Repeat("v", 256<<10), 0).Err(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 200*time.Millisecond {
			t.Fatalf("256 KiB at 1 MiB a second took %v", took)
		}
	})
}

func TestProxyFindsAMatchThatCameInPieces(t *testing.T) {
	t.Parallel()
	trap := &Trap{match: []byte("counter"), sprung: make(chan struct{})}
	var s scent
	for i, piece := range []string{"xxco", "unt", "er", "yy", "counter"} {
		want := piece == "er" || piece == "counter"
		if got := s.trap([]byte(piece), []*Trap{trap}); (got != nil) != want {
			t.Errorf("piece %d, %q: %v", i, piece, got)
		}
	}
}

func TestProxyStandsBeforeAPostgresSocket(t *testing.T) {
	t.Parallel()
	server := StartPostgres(t, PostgresOptions{})
	proxy := StartProxy(t, "unix", server.Socket())
	conn, err := pgx.Connect(t.Context(),
		"host="+filepath.Dir(proxy.Addr())+" user=postgres port="+strconv.Itoa(server.Port()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	ctx := within(t, time.Minute)
	if _, err := conn.Exec(ctx, "create table steps (name text)"); err != nil {
		t.Fatal(err)
	}
	proxy.CutNextReply("the-argument", 0)
	if _, err := conn.Exec(ctx, "insert into steps values ($1)", "the-argument"); err == nil {
		t.Fatal("the cut reply arrived")
	}
	beside, err := pgx.Connect(ctx, server.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close(ctx)
	var rows int
	if err := beside.QueryRow(ctx, "select count(*) from steps").Scan(&rows); err != nil || rows != 1 {
		t.Fatalf("%d rows, %v", rows, err)
	}
}

func TestProxyOfADownServerResets(t *testing.T) {
	t.Parallel()
	server := StartRedis(t, RedisOptions{})
	proxy := StartProxy(t, "tcp", server.Addr())
	server.Stop(t)
	client := redisClient(t, "tcp", proxy.Addr())
	if err := client.Ping(t.Context()).Err(); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a stopped server behind a proxy: %v", err)
	}
	server.Start(t)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}
