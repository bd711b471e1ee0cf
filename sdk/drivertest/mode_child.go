package drivertest

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/cachewright/cachewright/internal/host"
	"github.com/cachewright/cachewright/sdk"
)

// childKey names, in a child process, the driver that it serves.
const childKey = "CACHEWRIGHT_DRIVERTEST_CHILD"

// Child serves d if this process was started as a child by Run, and doesn't
// return then. Run does that by itself; a test package whose TestMain or init
// prepares something expensive, such as a server, calls Child before it.
func Child(d sdk.Driver) {
	if os.Getenv(childKey) == d.Name {
		sdk.Serve(d)
	}
}

// inChild tells whether this process is a child, of whatever driver.
func inChild() bool { return os.Getenv(childKey) != "" }

// startChild makes a process, the test binary started again, that starts with
// its first store. If it dies, or ends with any status but 0, the test fails:
// the race detector reports through the status.
func startChild(t testing.TB, d sdk.Driver) process {
	t.Helper()
	log := new(childLog)
	driver := host.New(host.Spec{
		Name:    d.Name,
		Command: append([]string{executable(t)}, only(t)...),
		Env:     map[string]string{childKey: d.Name, "GORACE": "atexit_sleep_ms=0"},
		Logger:  slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: log.note})),
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		restarts, ran := driver.Status().Restarts, driver.Status().PID != 0
		err := driver.Close(ctx)
		status, text := log.read()
		if err != nil || restarts > 0 || ran && status != "exit status 0" {
			t.Errorf("the driver's process did not end well: %q, restarted %d times, %v; its log:\n%s", status, restarts, err, text)
		}
	})
	return remote{driver}
}

func executable(t testing.TB) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	return path
}

// only are the arguments that make a test binary run t, which calls Run or
// Bench, and as little else as possible.
func only(t testing.TB) []string {
	var parts []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	pattern := strings.Join(parts, "/")
	if _, ok := t.(*testing.B); ok {
		return []string{"-test.run=^$", "-test.bench=" + pattern}
	}
	return []string{"-test.run=" + pattern}
}

// A childLog keeps what the host logs about a child, and how the child ended.
type childLog struct {
	mu     sync.Mutex // guards below
	text   bytes.Buffer
	status string
}

func (l *childLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *childLog) note(_ []string, a slog.Attr) slog.Attr {
	if a.Key == "status" {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.status = a.Value.String()
	}
	return a
}

func (l *childLog) read() (status, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status, l.text.String()
}
