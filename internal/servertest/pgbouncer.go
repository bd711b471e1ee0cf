package servertest

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// PgBouncerOptions are how a PgBouncer differs from a plain one in transaction
// mode, which trusts everybody.
type PgBouncerOptions struct {
	// Settings are lines of pgbouncer.ini: "default_pool_size = 2".
	Settings []string
}

// PgBouncer is a pgbouncer process before a PostgreSQL server.
type PgBouncer struct{ *Server }

// StartPgBouncer starts a pooler for all databases of the server, with its
// superuser, and waits until it takes connections.
func StartPgBouncer(t testing.TB, server *Postgres, options PgBouncerOptions) *PgBouncer {
	t.Helper()
	path := pgbouncer.find(t)
	who := humble(t)
	s := newServer(t, "pgbouncer", takePort(t, false))
	s.socket = filepath.Join(s.dir, fmt.Sprintf(".s.PGSQL.%d", s.Port()))
	s.quit = syscall.SIGQUIT // the only one that waits for nobody in every version
	file := filepath.Join(s.dir, "pgbouncer.ini")
	write(t, file, append([]string{
		"[databases]",
		fmt.Sprintf("* = host=%s port=%d user=postgres", server.Dir(), server.Port()),
		"[pgbouncer]",
		"pool_mode = transaction",
		"listen_addr = 127.0.0.1",
		fmt.Sprintf("listen_port = %d", s.Port()),
		"unix_socket_dir = " + s.dir,
		"auth_type = trust",
		"auth_file = " + filepath.Join(s.dir, "users"),
		"admin_users = postgres",
		"ignore_startup_parameters = extra_float_digits",
	}, options.Settings...))
	write(t, filepath.Join(s.dir, "users"), []string{`"postgres" ""`})
	if err := who.own(s.dir); err != nil {
		t.Fatalf("servertest: %v", err)
	}
	s.command = func() *exec.Cmd {
		cmd := who.run(exec.Command(path, file))
		cmd.Dir = s.dir
		return cmd
	}
	s.ready = func(int) error { return accepts(s.Addr()) }
	s.Start(t)
	return &PgBouncer{s}
}

// URL is the connection string of a database through the pooler, of postgres
// if name is empty. The database pgbouncer is its own console.
func (p *PgBouncer) URL(name string) string { return postgresURL(p.Addr(), name) }

func accepts(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}
