package memcached

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/cachewright/cachewright/internal/servertest"
)

// patience only ends what hangs.
const patience = 30 * time.Second

// A setting changes an option of a store under test.
type setting func(*options)

func at(servers ...string) setting          { return func(o *options) { o.Servers = servers } }
func dedicated(o *options)                  { o.Dedicated = true }
func connections(n int) setting             { return func(o *options) { o.Connections = n } }
func stallingAfter(d time.Duration) setting { return func(o *options) { o.StallTimeout = d } }
func dialingWithin(d time.Duration) setting { return func(o *options) { o.DialTimeout = d } }
func as(username, password string) setting {
	return func(o *options) { o.Username, o.Password = username, password }
}

// openTest opens a store with limits that only end what hangs, unless the
// settings say otherwise.
func openTest(t testing.TB, settings ...setting) *store {
	t.Helper()
	o := options{DialTimeout: patience, StallTimeout: patience, Connections: 8}
	for _, set := range settings {
		set(&o)
	}
	s, err := open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// startServer starts a plain server, or one with arguments.
func startServer(t testing.TB, args ...string) *servertest.Memcached {
	t.Helper()
	return servertest.StartMemcached(t, servertest.MemcachedOptions{Args: args})
}

// openAt starts a server and opens a store on it. The client goes there by
// itself.
func openAt(t testing.TB, settings ...setting) (*store, *memcache.Client) {
	t.Helper()
	server := startServer(t)
	return openTest(t, append([]setting{at(server.Addr())}, settings...)...), clientOf(t, server.Addr())
}

func clientOf(t testing.TB, addr string) *memcache.Client {
	t.Helper()
	client := memcache.New(addr)
	client.Timeout = patience
	t.Cleanup(func() { client.Close() })
	return client
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func set(t testing.TB, s *store, key, value string, ttl time.Duration) {
	t.Helper()
	must(t, s.Set(t.Context(), key, []byte(value), ttl))
}

// holds checks that the key has the value; "" stands for none.
func holds(t testing.TB, s *store, key, want string) {
	t.Helper()
	value, ok, err := s.Get(t.Context(), key)
	must(t, err)
	if string(value) != want || ok != (want != "") {
		t.Errorf("%q holds %.40q (there: %v), want %.40q", key, value, ok, want)
	}
}

// fails checks that err matches target and says all of the words.
func fails(t testing.TB, err, target error, words ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("the error %v does not match %q", err, target)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error %q does not say %q", err, word)
		}
	}
}

// eventually asks until the answer is yes.
func eventually(t testing.TB, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !yes(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v and still not: %s", patience, what)
		}
	}
}

// within returns a context that ends after d.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// A tape stands before a server and keeps the commands that clients send.
type tape struct {
	addr    string
	running sync.WaitGroup

	mu       sync.Mutex // guards below
	commands []string   // without what introduces a connection
}

// startTape starts a tape before the server at target.
func startTape(t testing.TB, target string) *tape {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	tp := &tape{addr: listener.Addr().String()}
	tp.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			tp.running.Go(func() { tp.record(client, server) })
			tp.running.Go(func() {
				io.Copy(client, server)
				client.Close()
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		tp.running.Wait() // stores close before
	})
	return tp
}

// record passes on what the client says, command by command.
func (tp *tape) record(client, server net.Conn) {
	defer server.Close()
	for r := bufio.NewReader(client); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		fields := strings.Fields(line)
		var item []byte
		if slices.Contains([]string{"set", "add", "replace", "cas"}, fields[0]) {
			size, _ := strconv.Atoi(fields[4])
			item = make([]byte, size+2)
			if _, err := io.ReadFull(r, item); err != nil {
				return
			}
		}
		if fields[0] != "version" && line != "stats settings\r\n" {
			tp.mu.Lock()
			tp.commands = append(tp.commands, strings.TrimSpace(line))
			tp.mu.Unlock()
		}
		if _, err := server.Write(append([]byte(line), item...)); err != nil {
			return
		}
	}
}

// played returns the commands since it was last asked.
func (tp *tape) played() []string {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	commands := tp.commands
	tp.commands = nil
	return commands
}

// keepsSecret checks that an error doesn't tell.
func keepsSecret(t testing.TB, err error, secret string) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), secret) {
		t.Errorf("the error %q tells a secret", err)
	}
}
