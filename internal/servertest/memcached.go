package servertest

import (
	"crypto/tls"
	"fmt"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// MemcachedOptions are how a Memcached server differs from a plain one, which
// has 64 MiB and listens on Addr.
type MemcachedOptions struct {
	// Args are command-line arguments: "-m", "8", "-I", "2m".
	Args []string
	// Unix has it listen on Socket instead of Addr: it can't do both.
	Unix bool
	// TLS has it speak TLS only; "-o", "ssl_verify_mode=2" in Args has it ask
	// clients for a certificate.
	TLS *Certificates
}

// Memcached is a memcached process.
type Memcached struct{ *Server }

// StartMemcached starts a server and waits until it answers.
func StartMemcached(t testing.TB, options MemcachedOptions) *Memcached {
	t.Helper()
	path := memcached.find(t)
	self, err := user.Current()
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	s := newServer(t, "memcached", takePort(t, false))
	args := []string{"-u", self.Username} // the name that root has to give is only a name to others
	network, address := "tcp", s.Addr()
	if options.Unix {
		network, address = "unix", s.socket
		args = append(args, "-s", s.socket)
	} else {
		args = append(args, "-l", "127.0.0.1", "-p", strconv.Itoa(s.Port()))
	}
	var client *tls.Config
	if files := options.TLS; files != nil {
		client = files.Client()
		args = append(args, "-Z", "-o", fmt.Sprintf("ssl_chain_cert=%s,ssl_key=%s,ssl_ca_cert=%s",
			files.ServerCert, files.ServerKey, files.CA))
	}
	args = append(args, options.Args...)
	s.quit = syscall.SIGKILL // there is nothing to save, and SIGTERM takes it a second
	s.command = func() *exec.Cmd { return exec.Command(path, args...) }
	s.ready = func(int) error { return memcachedServes(network, address, client) }
	s.Start(t)
	return &Memcached{s}
}

// wantsUser is what a server says that has users (-Y).
const wantsUser = "CLIENT_ERROR unauthenticated"

func memcachedServes(network, address string, client *tls.Config) error {
	answer, err := ask(network, address, client, "version")
	if err == nil && !strings.HasPrefix(answer, "VERSION ") && answer != wantsUser {
		err = fmt.Errorf("version is answered by %q", answer)
	}
	return err
}
