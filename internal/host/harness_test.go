//go:build unix

package host

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
)

// A logBuffer is a log that a test can read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// newDriver makes a driver that the test closes, with a quiet log unless the
// spec has one.
func newDriver(t testing.TB, spec Spec) *Driver {
	t.Helper()
	if spec.Logger == nil {
		spec.Logger = slog.New(slog.DiscardHandler)
	}
	d := New(spec)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
		defer cancel()
		d.Close(ctx)
	})
	return d
}

func openStore(t testing.TB, d *Driver, options map[string]any) *RemoteStore {
	t.Helper()
	r, err := d.Open(guarded(t), "s", options)
	must(t, err)
	return r
}

// guarded is a context that ends only a hang.
func guarded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), hangGuard)
	t.Cleanup(cancel)
	return ctx
}
