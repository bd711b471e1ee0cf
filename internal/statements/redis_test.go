package statements

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/servertest"
	goredis "github.com/redis/go-redis/v9"
)

// A monitor sees every command that a server executes.
type monitor struct {
	t      *testing.T
	socket string
	lines  *bufio.Reader
	ends   int
}

// watch watches the server of all tests.
func watch(t *testing.T) *monitor {
	t.Helper()
	return watchServer(t, redisServer(t))
}

func watchServer(t *testing.T, server *servertest.Redis) *monitor {
	t.Helper()
	conn, err := net.Dial("unix", server.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprint(conn, "MONITOR\r\n"); err != nil {
		t.Fatal(err)
	}
	m := &monitor{t: t, socket: server.Socket(), lines: bufio.NewReader(conn)}
	if line := m.line(); line != "+OK" {
		t.Fatalf("MONITOR is answered by %q", line)
	}
	return m
}

func (m *monitor) line() string {
	m.t.Helper()
	line, err := m.lines.ReadString('\n')
	if err != nil {
		m.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// seen lists the commands since it was last asked that name what, in lower case
// and without who sent them and when.
func (m *monitor) seen(what string) (commands []string) {
	m.t.Helper()
	m.ends++
	end := fmt.Sprintf("the end %d of %s", m.ends, m.t.Name())
	client := goredis.NewClient(&goredis.Options{Network: "unix", Addr: m.socket})
	defer client.Close()
	if err := client.Echo(m.t.Context(), end).Err(); err != nil {
		m.t.Fatal(err)
	}
	for {
		line := m.line()
		if strings.Contains(line, end) {
			return commands
		}
		_, command, _ := strings.Cut(line, "] ")
		if strings.Contains(command, what) && !strings.Contains(line, "lua]") {
			commands = append(commands, strings.ToLower(strings.ReplaceAll(command, `"`, "")))
		}
	}
}

func TestS5AndS66RedlockAddsOneKeyOnceForEachDo(t *testing.T) {
	t.Parallel()
	main, other := on(t, "redis")
	key, seen := t.Name(), watch(t)
	tokens := make(map[string]bool)
	for _, c := range []struct {
		opts []cache.LockOption
		px   string
	}{
		{nil, "px 10000"},
		{[]cache.LockOption{cache.LockTimeout(0)}, "px 10000"},
		{[]cache.LockOption{cache.LockTimeout(3 * time.Second)}, "px 3000"},
		{[]cache.LockOption{cache.LockTimeout(1)}, "px 1"},
		{[]cache.LockOption{cache.LockTimeout(1500 * time.Microsecond)}, "px 2"},
	} {
		seen.seen(key)
		err := main.Lock(key, c.opts...).Do(t.Context(), func(context.Context) error {
			sets := seen.seen(key)
			if len(sets) != 1 {
				t.Fatalf("an entry made %q", sets)
			}
			words := strings.Fields(sets[0])
			tokens[words[2]] = true
			if name := strings.ToLower("p:" + key + "-lock"); words[0] != "set" || words[1] != name || !strings.Contains(sets[0], " nx") || !strings.Contains(sets[0]+" ", " "+c.px+" ") {
				t.Errorf("an entry made %q, want one SET %s … NX %s", sets[0], name, c.px)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if n := redisClient(t).Exists(t.Context(), "p:"+key+"-lock").Val(); n != 0 {
			t.Error("the key is there after Do")
		}
	}
	if len(tokens) != 5 {
		t.Errorf("%d tokens for 5 Do", len(tokens))
	}
	leave := hold(t, main.Lock(key))
	enters(t, other, key)
	_ = leave()
}

func TestS68AWaiterNeverTriesAgain(t *testing.T) {
	t.Parallel()
	main, _ := on(t, "redis")
	key := t.Name()
	leave := hold(t, main.Lock(key))
	seen := watch(t)
	err := main.Lock(key, cache.LockTimeout(300*time.Millisecond)).Do(t.Context(), func(context.Context) error {
		if sets := seen.seen(key); len(sets) != 1 {
			t.Errorf("a waiter that entered made %q, want one attempt", sets)
		}
		return nil
	})
	if err != nil {
		t.Errorf("a wait that ran out: %v; redlock absorbs it", err)
	}
	_ = leave()
}

// Somebody plants another token as soon as the lease is over, while the holder
// leaves. A release that compared first and deleted then would delete it now
// and then.
func TestS72ARedisReleaseComparesAndDeletesAtOnce(t *testing.T) {
	t.Parallel()
	main, _ := on(t, "redis")
	client, seen := redisClient(t), watch(t)
	const racers, rounds = 8, 125
	var lost atomic.Int32 // how often the lease was over before the release
	var all sync.WaitGroup
	for racer := range racers {
		key := fmt.Sprint(t.Name(), racer)
		all.Go(func() {
			for range rounds {
				if raceRelease(t, main, client, key) {
					lost.Add(1)
				}
			}
		})
	}
	all.Wait()
	if n := lost.Load(); n == 0 || n == racers*rounds {
		t.Errorf("in %d of %d races the lease was over at the release: nobody raced", n, racers*rounds)
	}
	commands := map[string]int{}
	for _, command := range seen.seen(t.Name()) {
		if !strings.Contains(command, "planted") {
			commands[strings.Fields(command)[0]]++
		}
	}
	if commands["set"] != racers*rounds || commands["evalsha"] < racers*rounds || commands["get"]+commands["del"]+commands["unlink"] != 0 {
		t.Errorf("%d Do made %v, want as many SET, as many scripts, and no GET or DEL", racers*rounds, commands)
	}
}

// raceRelease leaves a lock about when its lease ends, and reports whether
// another's token was there by then.
func raceRelease(t *testing.T, r *cache.CacheRepository, client *goredis.Client, key string) (lost bool) {
	name := "p:" + key + "-lock"
	var there atomic.Bool
	planted := make(chan error, 1)
	plant := func() (bool, error) {
		return client.SetNX(context.Background(), name, "planted", time.Hour).Result()
	}
	err := r.Lock(key, cache.LockTimeout(3*time.Millisecond)).Do(t.Context(), func(context.Context) error {
		go func() {
			ok, err := plant()
			for err == nil && !ok {
				ok, err = plant()
			}
			there.Store(true)
			planted <- err
		}()
		time.Sleep(time.Duration(rand.Int64N(int64(4 * time.Millisecond))))
		lost = there.Load()
		return nil
	})
	if err != nil {
		t.Errorf("a release: %v", err)
	}
	if err := <-planted; err != nil {
		t.Errorf("plant another's token: %v", err)
	}
	if token := client.GetDel(t.Context(), name).Val(); token != "planted" {
		t.Errorf("after the holder left, the key of another holds %q", token)
	}
	return lost
}

func TestS36AndS71AnotherProcesssKeyLetsEverybodyInAtOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"redis", "memcached"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := hostConfig(t, kind, lasts(time.Hour))
			m := open(t, c)
			leave := hold(t, m.Lock("k"))
			h := startHost(t, "holder", c)
			h.expect("inside") // while this process holds it
			h.say("leave")
			h.expect("<nil>")
			if err := leave(); err != nil {
				t.Error(err)
			}
		})
	}
	main, _ := on(t, "redis")
	client := redisClient(t)
	name := "p:" + t.Name() + "-lock"
	if err := client.Set(t.Context(), name, "planted", time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	enters(t, main, t.Name())
	if token := client.Get(t.Context(), name).Val(); token != "planted" {
		t.Errorf("the planted key holds %q", token)
	}
}

func TestS44ALocksTimesAreItsOwn(t *testing.T) {
	t.Parallel()
	main, _ := on(t, "redis")
	key := t.Name()
	err := main.Lock(key).Do(t.Context(), func(ctx context.Context) error {
		if err := main.Set(ctx, key, 1, 50*time.Millisecond); err != nil {
			return err
		}
		eventually(t, "the value has expired", func() bool { ok, err := main.Has(ctx, key); return !ok && err == nil })
		waits(t, main, key)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
