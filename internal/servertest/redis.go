package servertest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// RedisOptions are how a Redis server differs from a plain one, which keeps
// nothing on disk and asks for no password.
type RedisOptions struct {
	// Password is asked for, if it is not empty.
	Password string
	// TLS has Addr speak TLS only, and ask clients for a certificate; the line
	// "tls-auth-clients no" in Config does without. Socket never speaks it.
	TLS *Certificates
	// Config is further lines of redis.conf: "appendonly yes".
	Config []string
}

// Redis is a redis-server process.
type Redis struct {
	*Server
	password string
}

// StartRedis starts a server and waits until it answers.
func StartRedis(t testing.TB, options RedisOptions) *Redis {
	t.Helper()
	p, config := takePort(t, false), options.Config
	if options.TLS != nil {
		config = append(redisTLS(p, options.TLS), config...)
	}
	r := newRedis(t, p, options.Password, config)
	r.Start(t)
	return r
}

func redisTLS(p *port, files *Certificates) []string {
	return []string{
		"port 0",
		fmt.Sprintf("tls-port %d", p.number),
		fmt.Sprintf("tls-ca-cert-file %q", files.CA),
		fmt.Sprintf("tls-cert-file %q", files.ServerCert),
		fmt.Sprintf("tls-key-file %q", files.ServerKey),
	}
}

func newRedis(t testing.TB, p *port, password string, config []string, args ...string) *Redis {
	t.Helper()
	path := redisServer.find(t)
	s := newServer(t, "redis", p)
	file := filepath.Join(s.dir, "redis.conf")
	lines := []string{
		"bind 127.0.0.1",
		fmt.Sprintf("port %d", p.number),
		fmt.Sprintf("unixsocket %q", s.socket),
		fmt.Sprintf("dir %q", s.dir),
		"daemonize no",
		`save ""`,
		"repl-diskless-sync-delay 0",
	}
	if password != "" {
		lines = append(lines, fmt.Sprintf("requirepass %q", password), fmt.Sprintf("masterauth %q", password))
	}
	write(t, file, append(lines, config...))
	s.command = func() *exec.Cmd { return exec.Command(path, append([]string{file}, args...)...) }
	s.ready = func(int) error { return redisServes(s.socket) }
	return &Redis{s, password}
}

// client is for the set-up; whoever asks for it closes it.
func (r *Redis) client() *redis.Client {
	return redis.NewClient(&redis.Options{Network: "unix", Addr: r.socket, Password: r.password})
}

// redisServes takes a refusal for want of a password as an answer.
func redisServes(socket string) error {
	answer, err := ask("unix", socket, nil, "PING")
	if err == nil && answer != "+PONG" && !strings.HasPrefix(answer, "-NOAUTH") {
		err = fmt.Errorf("PING is answered by %q", answer)
	}
	return err
}
