package servertest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// PostgresOptions are how a PostgreSQL server differs from a plain one, which
// trusts everybody. Its settings are PostgreSQL's own, except that it doesn't
// wait for the disk (fsync is off): what was committed survives Kill, but not
// the machine's end.
type PostgresOptions struct {
	// TLS has Addr speak TLS too, and verify clients that show a certificate;
	// Access says who has to.
	TLS *Certificates
	// Settings are lines of postgresql.conf: "max_connections = 20".
	Settings []string
	// Access replaces pg_hba.conf: "host all all 127.0.0.1/32 scram-sha-256".
	Access []string
}

// Postgres is a PostgreSQL server: superuser postgres, database postgres,
// UTF-8, locale C.
type Postgres struct{ *Server }

// StartPostgres starts a server and waits until it takes connections. The
// first one of a test binary also waits for initdb, for a second or two.
func StartPostgres(t testing.TB, options PostgresOptions) *Postgres {
	t.Helper()
	bin := filepath.Dir(initdb.find(t))
	who := humble(t)
	template, err := openTemplate(bin, who)
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	s := newServer(t, "postgres", takePort(t, false))
	s.socket = filepath.Join(s.dir, fmt.Sprintf(".s.PGSQL.%d", s.Port()))
	s.quit = syscall.SIGINT // fast: end the sessions, don't wait for them
	data := filepath.Join(s.dir, "data")
	createCluster(t, template, data, s, options)
	if err := who.own(s.dir); err != nil {
		t.Fatalf("servertest: %v", err)
	}
	s.command = func() *exec.Cmd { return postgresCommand(bin, data, who) }
	s.ready = func(pid int) error { return postgresServes(data, pid) }
	s.sweep = func() error { return freeSharedMemory(data) }
	s.Start(t)
	return &Postgres{s}
}

// URL is the connection string of a database over TCP, of postgres if name is
// empty.
func (p *Postgres) URL(name string) string { return postgresURL(p.Addr(), name) }

// SocketURL is the connection string of a database over the unix socket.
func (p *Postgres) SocketURL(name string) string {
	query := url.Values{"host": {p.Dir()}, "port": {strconv.Itoa(p.Port())}}
	return (&url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/" + database(name), RawQuery: query.Encode(),
	}).String()
}

func postgresURL(addr, name string) string {
	return (&url.URL{
		Scheme: "postgres", User: url.User("postgres"), Host: addr, Path: "/" + database(name),
		RawQuery: "sslmode=disable",
	}).String()
}

func database(name string) string {
	if name == "" {
		return "postgres"
	}
	return name
}

var template struct {
	once sync.Once
	dir  string
	err  error
}

// openTemplate runs initdb, once in this test binary, for all to copy.
func openTemplate(bin string, who account) (string, error) {
	template.once.Do(func() { template.dir, template.err = initTemplate(bin, who) })
	return template.dir, template.err
}

func initTemplate(bin string, who account) (string, error) {
	home, err := openHome()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(home.dir, "template-")
	if err != nil {
		return "", err
	}
	if err := who.own(dir); err != nil {
		return "", err
	}
	cmd := who.run(exec.Command(filepath.Join(bin, "initdb"), "--pgdata="+dir, "--username=postgres", "--auth=trust",
		"--encoding=UTF8", "--no-locale", "--wal-segsize=1", "--no-sync"))
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return dir, nil
}

func createCluster(t testing.TB, template, data string, s *Server, options PostgresOptions) {
	t.Helper()
	err := errors.Join(os.CopyFS(data, os.DirFS(template)), os.Chmod(data, 0o700))
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	// The file that initdb wrote is all comments and defaults.
	settings := []string{
		"listen_addresses = '127.0.0.1'",
		fmt.Sprintf("port = %d", s.Port()),
		fmt.Sprintf("unix_socket_directories = '%s'", s.dir),
		"fsync = off",
		"timezone = 'UTC'",
		"dynamic_shared_memory_type = mmap", // in its folder: a killed server leaves nothing in /dev/shm
	}
	if options.TLS != nil {
		settings = append(settings, postgresTLS(t, data, options.TLS)...)
	}
	write(t, filepath.Join(data, "postgresql.conf"), append(settings, options.Settings...))
	if options.Access != nil {
		write(t, filepath.Join(data, "pg_hba.conf"), options.Access)
	}
}

// postgresTLS copies the files: a server wants its key to be its own.
func postgresTLS(t testing.TB, data string, files *Certificates) []string {
	t.Helper()
	settings := []string{"ssl = on"}
	for setting, from := range map[string]string{
		"ssl_ca_file": files.CA, "ssl_cert_file": files.ServerCert, "ssl_key_file": files.ServerKey,
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatalf("servertest: %v", err)
		}
		write(t, filepath.Join(data, filepath.Base(from)), []string{string(text)})
		settings = append(settings, fmt.Sprintf("%s = '%s'", setting, filepath.Base(from)))
	}
	return settings
}

func postgresCommand(bin, data string, who account) *exec.Cmd {
	cmd := who.run(exec.Command(filepath.Join(bin, "postgres"), "-D", data))
	cmd.Dir = data
	return cmd
}

// postgresServes reads what pg_ctl waits for: the first and the eighth line of
// the pid file.
func postgresServes(data string, pid int) error {
	lines, err := postmasterFile(data)
	if err != nil {
		return err
	}
	if len(lines) < 8 || lines[0] != strconv.Itoa(pid) || strings.TrimSpace(lines[7]) != "ready" {
		return fmt.Errorf("starting: %q", lines)
	}
	return nil
}

// freeSharedMemory removes the segment that a killed server leaves, and whose
// number is in the seventh line of the pid file that it leaves too.
func freeSharedMemory(data string) error {
	lines, err := postmasterFile(data)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || len(lines) < 7 {
		return err
	}
	var key, id int
	if _, err := fmt.Sscan(lines[6], &key, &id); err != nil {
		return nil // it died before it had one
	}
	_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIDRM) {
		return nil // somebody was faster
	}
	return err
}

func postmasterFile(data string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	return strings.Split(string(text), "\n"), err
}
