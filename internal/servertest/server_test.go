package servertest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

func redisClient(t *testing.T, network, addr string) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Network: network, Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return client
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestRedisAnswersOverTCPAndOverItsSocket(t *testing.T) {
	t.Parallel()
	server := StartRedis(t, RedisOptions{})
	if err := redisClient(t, "tcp", server.Addr()).Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	got, err := redisClient(t, "unix", server.Socket()).Get(t.Context(), "k").Result()
	if got != "v" || err != nil {
		t.Fatalf("the socket answers %q, %v", got, err)
	}
}

func TestRedisTakesConfiguration(t *testing.T) {
	t.Parallel()
	server := StartRedis(t, RedisOptions{Password: "open \"sesame\"", Config: []string{"appendonly yes"}})
	client := redisClient(t, "tcp", "unused")
	client.Options().Addr = server.Addr()
	if err := client.Ping(t.Context()).Err(); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Fatalf("without a password: %v", err)
	}
	client = redis.NewClient(&redis.Options{Addr: server.Addr(), Password: `open "sesame"`})
	defer client.Close()
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for name, again := range map[string]func(testing.TB){
		"Restart": server.Restart,
		"Kill":    func(t testing.TB) { server.Kill(t); server.Start(t) },
	} {
		before := server.PID()
		again(t)
		if server.PID() == before {
			t.Fatalf("%s: still process %d", name, before)
		}
		if got, err := client.Get(t.Context(), "k").Result(); got != "v" || err != nil {
			t.Fatalf("after %s the append-only file gives %q, %v", name, got, err)
		}
	}
}

func TestMemcachedAnswers(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]MemcachedOptions{
		"over TCP":        {},
		"over its socket": {Unix: true},
		"with arguments":  {Args: []string{"-m", "8", "-I", "2m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := StartMemcached(t, options)
			addr := server.Addr()
			if options.Unix {
				addr = server.Socket()
			}
			client := memcache.New(addr)
			defer client.Close()
			if err := client.Set(&memcache.Item{Key: "k", Value: []byte("v")}); err != nil {
				t.Fatal(err)
			}
			server.Restart(t)
			client.Close()
			if _, err := client.Get("k"); err != memcache.ErrCacheMiss {
				t.Fatalf("after a restart: %v", err)
			}
		})
	}
}

func TestMemcachedWithUsersAnswers(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("name:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := StartMemcached(t, MemcachedOptions{Args: []string{"-Y", users}})
	answer, err := ask("tcp", server.Addr(), nil, "set auth 0 0 11\r\nname secret")
	if answer != "STORED" || err != nil {
		t.Fatalf("the user is answered by %q, %v", answer, err)
	}
}

func TestPostgresKeepsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	server := StartPostgres(t, PostgresOptions{Settings: []string{"max_connections = 20"}})
	steps := []struct {
		name  string
		again func()
		url   string
	}{
		{"a start", func() {}, server.URL("")},
		{"a restart", func() { server.Restart(t) }, server.SocketURL("")},
		{"a crash", func() { server.Kill(t); server.Start(t) }, server.URL("")},
		{"a freeze and a crash", func() { server.Freeze(t); server.Kill(t); server.Start(t) }, server.SocketURL("")},
	}
	ctx := within(t, 2*time.Minute)
	for i, step := range steps {
		step.again()
		conn, err := pgx.Connect(ctx, step.url)
		if err != nil {
			t.Fatalf("after %s: %v", step.name, err)
		}
		var rows int
		_, err = conn.Exec(ctx, "create table if not exists steps (name text)")
		if _, insert := conn.Exec(ctx, "insert into steps values ($1)", step.name); err != nil || insert != nil {
			t.Fatalf("after %s: %v, %v", step.name, err, insert)
		}
		if err := conn.QueryRow(ctx, "select count(*) from steps").Scan(&rows); err != nil || rows != i+1 {
			t.Fatalf("after %s there are %d rows, %v", step.name, rows, err)
		}
		conn.Close(ctx)
	}
}

func TestPostgresTakesAccessRules(t *testing.T) {
	t.Parallel()
	server := StartPostgres(t, PostgresOptions{Access: []string{
		"local all all trust",
		"host all all 127.0.0.1/32 reject",
	}})
	conn, err := pgx.Connect(t.Context(), server.SocketURL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close(t.Context())
	if conn, err := pgx.Connect(t.Context(), server.URL("postgres")); err == nil {
		conn.Close(t.Context())
		t.Fatal("the rejected address came in")
	}
}

func TestAFrozenServerKeepsConnectionsButAnswersNothing(t *testing.T) {
	t.Parallel()
	redisServer, postgres := StartRedis(t, RedisOptions{}), StartPostgres(t, PostgresOptions{})
	client := redisClient(t, "tcp", redisServer.Addr())
	conn, err := pgx.Connect(t.Context(), postgres.URL(""))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())

	redisServer.Freeze(t)
	postgres.Freeze(t)
	if err := client.Ping(within(t, 50*time.Millisecond)).Err(); err == nil {
		t.Error("frozen redis answers")
	}
	answered := make(chan error, 1)
	go func() { answered <- conn.Ping(context.Background()) }()
	select {
	case err := <-answered:
		t.Errorf("frozen PostgreSQL answers: %v", err)
	case <-time.After(50 * time.Millisecond):
	}

	redisServer.Thaw(t)
	postgres.Thaw(t)
	if err := client.Ping(within(t, 30*time.Second)).Err(); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestAFrozenServerCanBeStopped(t *testing.T) {
	t.Parallel()
	server := StartPostgres(t, PostgresOptions{})
	pid := server.PID()
	server.Freeze(t)
	server.Stop(t)
	if alive(pid) || server.PID() != 0 {
		t.Fatalf("process %d survived; PID is %d", pid, server.PID())
	}
}
