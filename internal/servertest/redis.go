package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// RedisOptions are how a Redis server differs from a plain one, which keeps
// nothing on disk and asks for no password.
type RedisOptions struct {
	// Config is lines of redis.conf: "requirepass secret", "appendonly yes".
	Config []string
}

// Redis is a redis-server process.
type Redis struct{ *Server }

// StartRedis starts a server and waits until it answers.
func StartRedis(t testing.TB, options RedisOptions) *Redis {
	t.Helper()
	r := newRedis(t, takePort(t, false), nil, options.Config...)
	r.Start(t)
	return r
}

func newRedis(t testing.TB, p *port, args []string, config ...string) *Redis {
	t.Helper()
	path := redisServer.find(t)
	s := newServer(t, "redis", p)
	file := filepath.Join(s.dir, "redis.conf")
	lines := append([]string{
		"bind 127.0.0.1",
		fmt.Sprintf("port %d", p.number),
		fmt.Sprintf("unixsocket %q", s.socket),
		fmt.Sprintf("dir %q", s.dir),
		"daemonize no",
		`save ""`,
		"repl-diskless-sync-delay 0",
	}, config...)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatalf("servertest: %v", err)
	}
	s.command = func() *exec.Cmd { return exec.Command(path, append([]string{file}, args...)...) }
	s.ready = func(int) error { return redisServes(s.socket) }
	return &Redis{s}
}

// redisServes takes a refusal for want of a password as an answer.
func redisServes(socket string) error {
	answer, err := ask("unix", socket, "PING")
	if err == nil && answer != "+PONG" && !strings.HasPrefix(answer, "-NOAUTH") {
		err = fmt.Errorf("PING is answered by %q", answer)
	}
	return err
}
