package redis_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	goredis "github.com/redis/go-redis/v9"
)

// hostile is a user and a password of characters that mean something to URLs,
// shells, YAML and Redis.
const (
	hostileUser     = `us:er@/?#[]%41é"'`
	hostilePassword = `p@ss:w/ord?#[]{}%20 é😀"'\$` + "`&=+,;<>|"
)

func TestUserAndPasswordMayHoldAnyCharacters(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	admin := observer(t, server)
	command(t, admin, "acl", "setuser", hostileUser, "on", ">"+hostilePassword, "~*", "&*", "+@all")
	command(t, admin, "acl", "setuser", "default", "off")
	tcp := (&url.URL{Scheme: "redis", User: url.UserPassword(hostileUser, hostilePassword), Host: server.Addr(), Path: "/3"}).String()
	unix := (&url.URL{Scheme: "unix", User: url.UserPassword(hostileUser, hostilePassword), Path: server.Socket(), RawQuery: "db=3"}).String()
	for name, options := range map[string]map[string]any{
		"fields":              {"addr": server.Addr(), "username": hostileUser, "password": hostilePassword, "db": 3},
		"fields and a socket": {"addr": server.Socket(), "username": hostileUser, "password": hostilePassword, "db": 3},
		"a URL":               {"url": tcp},
		"a URL of a socket":   {"url": unix},
	} {
		store := opened(t, options)
		if err := store.Set(t.Context(), "k", []byte(name), sdk.NoExpiry); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		seen := observer(t, server, func(o *goredis.Options) { o.Username, o.Password, o.DB = hostileUser, hostilePassword, 3 })
		if value := seen.Get(t.Context(), "k").Val(); value != name {
			t.Errorf("%s: database 3 has %q", name, value)
		}
	}
}

func TestASentinelMayHaveAPassword(t *testing.T) {
	t.Parallel()
	set := servertest.StartSentinel(t, servertest.SentinelOptions{Password: "p@ss word", Sentinels: 1})
	sentinel := observer(t, set.Sentinels[0])
	command(t, sentinel, "acl", "setuser", "watcher", "on", ">s3ntinel word", "allchannels", "+@all")
	command(t, sentinel, "acl", "setuser", "default", "off")
	options := map[string]any{
		"password": "p@ss word", "db": 2,
		"sentinel": map[string]any{
			"master": servertest.SentinelName, "addrs": set.Addrs(), "username": "watcher", "password": "s3ntinel word",
		},
	}
	store := opened(t, options)
	if err := store.Set(t.Context(), "k", []byte("v"), sdk.NoExpiry); err != nil {
		t.Fatal(err)
	}
	options["sentinel"].(map[string]any)["password"] = "wrong w0rd"
	err := opened(t, options).Ping(t.Context())
	if !errors.Is(err, sdk.ErrUnavailable) || strings.Contains(err.Error(), "w0rd") {
		t.Errorf("a wrong password of the Sentinel: %v", err)
	}
}

func TestAClusterMayHaveAPassword(t *testing.T) {
	t.Parallel()
	cluster := servertest.StartCluster(t, servertest.ClusterOptions{Password: "p@ss word"})
	store := opened(t, map[string]any{"password": "p@ss word", "cluster": map[string]any{"addrs": cluster.Addrs()[:1]}})
	for i := range 20 {
		if err := store.Set(t.Context(), fmt.Sprint("k", i), []byte("v"), sdk.NoExpiry); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAServerThatIsTooOldIsNamed(t *testing.T) {
	t.Parallel()
	for name, fake := range map[string]string{
		"without HELLO": fakeServer(t, func(command []string) string {
			switch command[0] {
			case "INFO":
				return bulk("# Server\r\nredis_version:5.0.7\r\n")
			case "CLIENT":
				return "+OK\r\n"
			}
			return "-ERR unknown command `" + command[0] + "`, with args beginning with: `" + strings.Join(command[1:], "`, `") + "`\r\n"
		}),
		"with HELLO": fakeServer(t, func(command []string) string {
			if command[0] != "HELLO" {
				return "+OK\r\n"
			}
			return "*6\r\n" + bulk("server") + bulk("redis") + bulk("version") + bulk("6.0.16") + bulk("role") + bulk("master")
		}),
	} {
		_, _, err := opened(t, map[string]any{"addr": fake}).Get(t.Context(), "k")
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "6.2") || !strings.Contains(err.Error(), fake) {
			t.Errorf("an old server %s: %v; want the address, its version and the oldest that works", name, err)
		}
	}
}

func TestNoSecretIsInAnError(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	server := servertest.StartRedis(t, servertest.RedisOptions{Password: "another"})
	echo := fakeServer(t, func(command []string) string {
		return "-ERR I don't know " + strings.Join(command, " ") + "\r\n"
	})
	args := fakeServer(t, func(command []string) string {
		return "-ERR unknown command, with args beginning with: " + strings.Join(command, " ") + "\r\n"
	})
	nobody := "127.0.0.1:1"
	for name, options := range map[string]map[string]any{
		"a wrong password":                     {"addr": server.Addr(), "password": secret},
		"a wrong user":                         {"addr": server.Addr(), "username": "u", "password": secret},
		"a wrong password in a URL":            {"url": "redis://:" + secret + "@" + server.Addr()},
		"nobody there":                         {"addr": nobody, "password": secret},
		"nobody at a URL":                      {"url": "redis://:" + secret + "@" + nobody},
		"nobody at a URL with TLS":             {"url": "rediss://:" + secret + "@" + nobody},
		"no TLS there":                         {"url": "rediss://:" + secret + "@" + server.Addr(), "dial_timeout": "100ms"},
		"a server that repeats what it gets":   {"addr": echo, "password": secret},
		"a server that repeats arguments":      {"addr": args, "password": secret},
		"a URL that is none":                   {"url": "redis://:" + secret + "@host:port:port"},
		"a URL with a bad port":                {"url": "redis://user:" + secret + "#@host:1"},
		"a URL whose password has a slash":     {"url": "redis://:a/" + secret + "@" + nobody},
		"a URL whose password has a percent":   {"url": "redis://:%" + secret + "@" + nobody},
		"a URL with another scheme":            {"url": "http://:" + secret + "@" + nobody},
		"a URL with parameters":                {"url": "redis://" + nobody + "?password=" + secret},
		"a URL beside a password":              {"url": "redis://" + nobody, "password": secret},
		"Sentinels that aren't there":          {"password": secret, "sentinel": map[string]any{"master": "m", "addrs": []string{nobody}, "password": secret}},
		"a Cluster that isn't there":           {"password": secret, "cluster": map[string]any{"addrs": []string{nobody}}},
		"a user without a password":            {"addr": nobody, "username": "u"},
		"a Sentinel that repeats what it gets": {"sentinel": map[string]any{"master": "m", "addrs": []string{echo}, "password": secret}},
	} {
		store, err := redis.Driver.Open(t.Context(), options)
		if err == nil {
			err = store.Set(t.Context(), "k", []byte("v4lue"), sdk.NoExpiry)
			store.Close(t.Context())
		}
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, secret := range []string{secret, "v4lue"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error repeats a secret: %v", name, err)
			}
		}
	}
}

// fakeServer answers commands, whose names it gets in capitals.
func fakeServer(t *testing.T, answer func(command []string) string) (addr string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for r := bufio.NewReader(conn); ; {
					command, err := readCommand(r)
					if err != nil {
						return
					}
					command[0] = strings.ToUpper(command[0])
					conn.Write([]byte(answer(command)))
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func readCommand(r *bufio.Reader) (command []string, err error) {
	number := func(kind byte) (n int, err error) {
		line, err := r.ReadString('\n')
		if err != nil || line[0] != kind {
			return 0, errors.Join(err, errors.ErrUnsupported)
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number('*')
	for range n {
		size, err := number('$')
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}
		command = append(command, string(text[:size]))
	}
	if len(command) == 0 {
		return nil, errors.Join(err, errors.ErrUnsupported)
	}
	return command, err
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }
