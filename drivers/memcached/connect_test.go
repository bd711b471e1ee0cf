package memcached

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

// works checks that the store does what it is there for.
func works(t *testing.T, s *store) {
	t.Helper()
	set(t, s, "key", "value", time.Hour)
	holds(t, s, "key", "value")
	_, err := s.Delete(t.Context(), "counter")
	must(t, err)
	if n, err := s.Increment(t.Context(), "counter", 2, time.Hour); n != 2 || err != nil {
		t.Errorf("Increment: %d, %v", n, err)
	}
	must(t, s.Ping(t.Context()))
	if _, err = s.Stats(t.Context()); err != nil {
		t.Errorf("Stats: %v", err)
	}
}

func TestAUnixSocket(t *testing.T) {
	t.Parallel()
	server := servertest.StartMemcached(t, servertest.MemcachedOptions{Unix: true})
	s := openTest(t, at(server.Socket()))
	works(t, s)
	server.Kill(t)
	_, _, err := s.Get(t.Context(), "key")
	fails(t, err, sdk.ErrUnavailable, server.Socket())
	server.Start(t)
	eventually(t, "the server is back", func() bool { _, _, err := s.Get(t.Context(), "key"); return err == nil })
	works(t, s)
}

func tlsWith(change func(*options)) setting {
	return func(o *options) {
		o.TLS.Enabled = true
		change(o)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	files := servertest.NewCertificates(t)
	open := servertest.StartMemcached(t, servertest.MemcachedOptions{TLS: files})
	strict := servertest.StartMemcached(t, servertest.MemcachedOptions{TLS: files, Args: []string{"-o", "ssl_verify_mode=2"}})
	ca := func(o *options) { o.TLS.CA = files.CA }
	for name, test := range map[string]struct {
		addr  string
		tls   func(*options)
		fault string // empty: it works
	}{
		"the authority is known":    {open.Addr(), ca, ""},
		"it isn't":                  {open.Addr(), func(*options) {}, "certificate"},
		"any certificate will do":   {open.Addr(), func(o *options) { o.TLS.Insecure = true }, ""},
		"the name is another":       {open.Addr(), func(o *options) { ca(o); o.TLS.ServerName = "example.org" }, "example.org"},
		"the name is given":         {open.Addr(), func(o *options) { ca(o); o.TLS.ServerName = "localhost" }, ""},
		"the client is known":       {strict.Addr(), func(o *options) { ca(o); o.TLS.Cert, o.TLS.Key = files.ClientCert, files.ClientKey }, ""},
		"it isn't known":            {strict.Addr(), ca, ""},
		"there is no such file":     {open.Addr(), func(o *options) { o.TLS.CA = "/nowhere/ca.pem" }, "tls.ca"},
		"the key is no certificate": {open.Addr(), func(o *options) { o.TLS.CA = files.ServerKey }, "no PEM certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, at(test.addr), tlsWith(test.tls))
			if name == "it isn't known" {
				test.fault = ":" // the server ends the connection in its own way
			}
			if test.fault == "" {
				works(t, s)
				return
			}
			_, _, err := s.Get(t.Context(), "key")
			fails(t, err, sdk.ErrUnavailable, test.fault)
		})
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	const secret = "open:sesame~%é"
	users := filepath.Join(t.TempDir(), "users")
	must(t, os.WriteFile(users, []byte("app:"+secret+"\n"), 0o600))
	server := startServer(t, "-Y", users)
	works(t, openTest(t, at(server.Addr()), as("app", secret)))
	for name, test := range map[string]struct {
		settings []setting
		words    string
	}{
		"no user":        {nil, "set username and password"},
		"a wrong one":    {[]setting{as("other", "wrong-"+secret)}, "check username and password"},
		"wrong password": {[]setting{as("app", "wrong-"+secret)}, "check username and password"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTest(t, append(test.settings, at(server.Addr()))...)
			for range 2 { // also when the server is left alone
				_, _, err := s.Get(t.Context(), "key")
				fails(t, err, sdk.ErrUnavailable, server.Addr(), test.words)
				keepsSecret(t, err, secret)
			}
			_, err := s.Stats(t.Context())
			fails(t, err, sdk.ErrUnavailable)
			keepsSecret(t, err, secret)
		})
	}
}

func TestAServerThatAsksNobodyIsNotToldThePassword(t *testing.T) {
	t.Parallel()
	s, client := openAt(t, as("app", "secret"))
	must(t, client.Set(&memcache.Item{Key: "auth", Value: []byte("of other origin")}))
	works(t, s)
	item, err := client.Get("auth")
	must(t, err)
	if string(item.Value) != "of other origin" {
		t.Error("user and password were stored as an item")
	}
}

func TestAServerThatCantBeUsedSaysWhy(t *testing.T) {
	t.Parallel()
	redis := servertest.StartRedis(t, servertest.RedisOptions{})
	for name, test := range map[string]struct {
		addr  string
		also  error
		words string
	}{
		"without cas":    {startServer(t, "-C").Addr(), errors.ErrUnsupported, "-C"},
		"no memcached":   {redis.Addr(), nil, "does not speak memcached's protocol"},
		"closes":         {answering(t, ""), nil, "EOF"},
		"says rubbish":   {answering(t, "VERSION 1.6\r\nSTAT a b\r\nsecret\r\n"), nil, "no statistic"},
		"is full":        {answering(t, "ERROR Too many open connections\r\n"), nil, "Too many open connections"},
		"nobody listens": {"127.0.0.1:1", nil, "refused"},
		"no such host":   {"nowhere.invalid:11211", nil, "nowhere.invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTest(t, at(test.addr))
			err := s.Set(t.Context(), "key", []byte("value"), time.Hour)
			fails(t, err, sdk.ErrUnavailable, test.addr, test.words)
			keepsSecret(t, err, "secret")
			if test.also != nil {
				fails(t, err, test.also)
			}
			if errors.Is(err, sdk.ErrMaybeApplied) {
				t.Errorf("%v says that it may have been applied", err)
			}
		})
	}
}

// answering is the address of a server that gives one answer to everybody.
func answering(t *testing.T, answer string) string {
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
			conn.Read(make([]byte, 1))
			conn.Write([]byte(answer))
			conn.(*net.TCPConn).CloseWrite()
		}
	}()
	return listener.Addr().String()
}

// A server that doesn't tell its settings, as a proxy may not, works; its limit
// is learnt from its refusals.
func TestAServerThatDoesNotTellItsSettings(t *testing.T) {
	t.Parallel()
	s := openTest(t, at(startServer(t).Addr()), connections(1))
	works(t, s)
	s.ring[0].server.limit.Store(0)
	set(t, s, "large", "old", time.Hour)
	fails(t, s.Set(t.Context(), "large", make([]byte, 2<<20), time.Hour), sdk.ErrTooLarge, "is not known")
	_, err := s.Add(t.Context(), "other", make([]byte, 2<<20), time.Hour)
	fails(t, err, sdk.ErrTooLarge, "2097")
	works(t, s)
}

func TestOpeningConnectsToNothing(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	s := openTest(t, at(listener.Addr().String()))
	_ = s.Traits()
	must(t, s.Close())
	listener.(*net.TCPListener).SetDeadline(time.Now().Add(50 * time.Millisecond))
	if conn, err := listener.Accept(); err == nil {
		t.Errorf("%v has connected", conn.RemoteAddr())
	}
}
