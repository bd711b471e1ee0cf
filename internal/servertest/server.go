package servertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// startLimit and stopLimit only end what hangs.
	startLimit = 60 * time.Second
	stopLimit  = 20 * time.Second
	poll       = 5 * time.Millisecond
	logTail    = 8 << 10
)

// A Server is one server process: its address stays the same however often it
// is stopped and started. Its methods are for the goroutine of the test whose
// t they are given; they end that test when the server doesn't do as told.
type Server struct {
	home    *home
	dir     string
	port    *port
	socket  string
	command func() *exec.Cmd
	ready   func(pid int) error
	quit    syscall.Signal // asks for an orderly end
	sweep   func() error   // frees what a crash has left outside of dir

	mu      sync.Mutex
	current *process
}

// A process is one life of a server.
type process struct {
	*os.Process
	exited chan struct{}
	state  *os.ProcessState // after exited
	frozen []int            // children that were stopped with it
}

// newServer makes a server that isn't running, in a folder of its own. It is
// stopped and its folder removed when t ends.
func newServer(t testing.TB, name string, p *port) *Server {
	t.Helper()
	home := testHome(t)
	dir := home.folder(t, name)
	s := &Server{home: home, dir: dir, port: p, socket: filepath.Join(dir, "socket"), quit: syscall.SIGTERM}
	s.sweep = func() error { return nil }
	t.Cleanup(func() {
		s.Stop(t)
		p.release()
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", name, s.Log())
		}
		if err := errors.Join(s.sweep(), os.RemoveAll(dir)); err != nil {
			t.Errorf("servertest: %v", err)
		}
	})
	return s
}

// Addr returns the server's TCP address, host:port.
func (s *Server) Addr() string { return s.port.addr() }

// Port returns the port of Addr.
func (s *Server) Port() int { return s.port.number }

// Socket returns the path of the server's unix socket.
func (s *Server) Socket() string { return s.socket }

// Dir returns the server's folder; it outlives a restart.
func (s *Server) Dir() string { return s.dir }

// PID returns the number of the running process, 0 if there is none.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return 0
	}
	return s.current.Pid
}

// Start starts a stopped server, at its old address and with what it kept on
// disk, and waits until it answers.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		t.Fatalf("servertest: %s runs already", s.dir)
	}
	if err := s.launch(); err != nil {
		t.Fatalf("servertest: start %s: %v", s.dir, err)
	}
	if err := s.awaitReady(); err != nil {
		t.Fatalf("servertest: %s: %v\n%s", s.dir, err, s.Log())
	}
}

// Stop asks the server to end and waits until it has, frozen or not. What
// doesn't listen is killed. To stop a stopped server does nothing.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return
	}
	s.current.Signal(s.quit)
	s.thaw()
	select {
	case <-s.current.exited:
	case <-time.After(stopLimit):
		t.Logf("servertest: %s ignored %v for %v, killing it", s.dir, s.quit, stopLimit)
		s.kill(t)
	}
}

// Kill ends the server without a warning, as a crash would, and waits until
// it and its children are gone.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		s.kill(t)
	}
}

// Restart is Stop and Start.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop(t)
	s.Start(t)
}

// Freeze stops the server and its children in their tracks: connections stay
// open and new ones are accepted by the system, but nothing answers. When it
// returns, nothing of the server runs.
func (s *Server) Freeze(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		t.Fatalf("servertest: freeze %s: it does not run", s.dir)
	}
	if err := s.freeze(); err != nil {
		t.Fatalf("servertest: freeze %s: %v", s.dir, err)
	}
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		t.Fatalf("servertest: thaw %s: it does not run", s.dir)
	}
	s.thaw()
}

// Log returns the end of what the server has printed since its first start.
func (s *Server) Log() string {
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-logTail):])
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

func (s *Server) running() bool {
	if s.current == nil {
		return false
	}
	select {
	case <-s.current.exited:
		return false
	default:
		return true
	}
}

func (s *Server) launch() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.command()
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true // an interrupt from the terminal ends the test, not its servers first
	if err := cmd.Start(); err != nil {
		return err
	}
	s.current = &process{Process: cmd.Process, exited: make(chan struct{})}
	watched := s.home.watch(s.current.Pid)
	go s.current.wait(cmd, s.home)
	return watched
}

func (p *process) wait(cmd *exec.Cmd, h *home) {
	cmd.Wait() // its error is in the state
	p.state = cmd.ProcessState
	h.unwatch(p.Pid)
	close(p.exited)
}

func (s *Server) awaitReady() error {
	limit := time.After(startLimit)
	for {
		err := s.ready(s.current.Pid)
		if err == nil {
			return nil
		}
		select {
		case <-s.current.exited:
			return fmt.Errorf("it ended at once: %v", s.current.state)
		case <-limit:
			return fmt.Errorf("no answer within %v: %w", startLimit, err)
		case <-time.After(poll):
		}
	}
}

// kill ends the children too: a stopped one would not notice.
func (s *Server) kill(t testing.TB) {
	t.Helper()
	s.current.Signal(syscall.SIGSTOP) // no more children
	family := children(s.current.Pid)
	s.current.Signal(syscall.SIGKILL)
	for _, child := range family {
		syscall.Kill(child, syscall.SIGKILL)
	}
	limit := time.Now().Add(stopLimit)
	<-s.current.exited
	s.current.frozen = nil
	for _, child := range family {
		for alive(child) {
			if time.Now().After(limit) {
				t.Fatalf("servertest: %s: child %d survives SIGKILL", s.dir, child)
			}
			time.Sleep(poll)
		}
		s.home.unwatch(child)
	}
}

// freeze stops the parent first, so that no child is missed. A frozen child
// doesn't notice its parent's death and needs the watchman's care.
func (s *Server) freeze() error {
	if err := halt(s.current.Pid); err != nil {
		return err
	}
	s.current.frozen = children(s.current.Pid)
	for _, child := range s.current.frozen {
		err := errors.Join(s.home.watch(child), halt(child))
		if err != nil && alive(child) {
			return err
		}
	}
	return nil
}

func (s *Server) thaw() {
	for _, child := range s.current.frozen {
		syscall.Kill(child, syscall.SIGCONT)
		s.home.unwatch(child)
	}
	s.current.frozen = nil
	s.current.Signal(syscall.SIGCONT)
}

// halt stops a process and waits until it stands.
func halt(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	for limit := time.Now().Add(stopLimit); !stopped(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			return errors.New("process " + strconv.Itoa(pid) + " does not stop")
		}
	}
	return nil
}

// write writes a configuration file, which may hold a password.
func write(t testing.TB, path string, lines []string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatalf("servertest: %v", err)
	}
}
