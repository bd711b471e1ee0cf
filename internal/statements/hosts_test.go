package statements

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

const (
	roleKey   = "STATEMENTS_ROLE"
	configKey = "STATEMENTS_CONFIG"

	// hangGuard ends what would otherwise hang; no test waits for it.
	hangGuard = 60 * time.Second
)

// A role is what another host does. It speaks with the test by lines.
type role func(p *part) error

// A part is a role being played: its manager, and its lines.
type part struct {
	in  *bufio.Scanner
	ctx context.Context
}

func newPart() *part {
	return &part{in: bufio.NewScanner(os.Stdin), ctx: context.Background()}
}

// open opens the configuration that the test gave.
func (p *part) open() (*cache.CacheManager, error) {
	var c cache.Config
	if err := json.Unmarshal([]byte(os.Getenv(configKey)), &c); err != nil {
		return nil, err
	}
	return cache.OpenConfig(p.ctx, c, quiet)
}

// say tells the test.
func (p *part) say(line string) { fmt.Println(line) }

// hear waits for the test's next line; "" is its end.
func (p *part) hear() string {
	p.in.Scan()
	return p.in.Text()
}

// A host is another process that plays a role.
type host struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Scanner

	dead bool // on purpose
}

// startHost runs the test binary as another host.
func startHost(t *testing.T, role string, c cache.Config) *host {
	t.Helper()
	config, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), roleKey+"="+role, configKey+"="+string(config))
	cmd.Stderr = os.Stderr
	in, inWriter, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = in
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	h := &host{t: t, cmd: cmd, in: inWriter, out: bufio.NewScanner(out)}
	t.Cleanup(h.end)
	return h
}

func (h *host) say(line string) {
	if _, err := fmt.Fprintln(h.in, line); err != nil {
		h.t.Errorf("tell the other host %q: %v", line, err)
	}
}

// expect waits for the host's next line.
func (h *host) expect(want string) {
	h.t.Helper()
	if got := h.hear(); got != want {
		h.t.Fatalf("the other host said %q, want %q", got, want)
	}
}

func (h *host) hear() string {
	h.t.Helper()
	if !h.out.Scan() {
		h.t.Fatal("the other host said nothing more")
	}
	return h.out.Text()
}

// kill ends the host without a warning.
func (h *host) kill() {
	h.t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	h.dead = true
}

// exits tells the host to end its process where it stands, by os.Exit, and
// waits until it has.
func (h *host) exits() {
	h.t.Helper()
	h.say("exit")
	h.dead = true
	if h.out.Scan() {
		h.t.Fatalf("the other host said %q in place of its end", h.out.Text())
	}
}

// end closes the host's stdin, upon which every role ends.
func (h *host) end() {
	_ = h.in.Close()
	if err := h.cmd.Wait(); err != nil && !h.dead {
		h.t.Errorf("the other host: %v", err)
	}
}

// open opens a manager in this process.
func open(t *testing.T, c cache.Config, opts ...cache.Option) *cache.CacheManager {
	t.Helper()
	m, err := cache.OpenConfig(t.Context(), c, append([]cache.Option{quiet}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return m
}

// store is the repository of a store, as the concrete type.
func store(t *testing.T, m *cache.CacheManager, name string) *cache.CacheRepository {
	t.Helper()
	r, err := m.Store(name)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*cache.CacheRepository)
}

// fileConfig has one file store below dir.
func fileConfig(dir string) cache.Config {
	return cache.Config{
		Default: "file",
		Prefix:  "app",
		Stores:  map[string]cache.StoreConfig{"file": {Driver: "file", Options: map[string]any{"path": dir}}},
	}
}

// hold enters a lock and stays inside until leave.
func hold(t *testing.T, l *cache.CacheLock) (leave func() error) {
	t.Helper()
	inside, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- l.Do(context.Background(), func(context.Context) error {
			close(inside)
			<-end
			return nil
		})
	}()
	select {
	case <-inside:
	case err := <-done:
		t.Fatalf("the lock was not entered: %v", err)
	case <-time.After(hangGuard):
		t.Fatal("the lock was never entered")
	}
	return func() error { close(end); return <-done }
}

// taken reports whether a lock can't be entered right now.
func taken(t *testing.T, r cache.Locker, key string) bool {
	t.Helper()
	ran := false
	_ = r.Lock(key, cache.LockTimeout(0)).Do(t.Context(), func(context.Context) error { ran = true; return nil })
	return !ran
}
