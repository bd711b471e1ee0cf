package servertest

import (
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
	args = append(args, options.Args...)
	s.quit = syscall.SIGKILL // there is nothing to save, and SIGTERM takes it a second
	s.command = func() *exec.Cmd { return exec.Command(path, args...) }
	s.ready = func(int) error { return memcachedServes(network, address) }
	s.Start(t)
	return &Memcached{s}
}

func memcachedServes(network, address string) error {
	answer, err := ask(network, address, "version")
	if err == nil && !strings.HasPrefix(answer, "VERSION ") {
		err = fmt.Errorf("version is answered by %q", answer)
	}
	return err
}
