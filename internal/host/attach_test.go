package host

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// A constant is a store whose every key has one value.
type constant string

func (c constant) Get(context.Context, string) ([]byte, bool, error)        { return []byte(c), true, nil }
func (c constant) Set(context.Context, string, []byte, time.Duration) error { return nil }
func (c constant) Delete(context.Context, string) (bool, error)             { return true, nil }
func (c constant) Close() error                                             { return nil }

// serveAt serves a constant until end is called.
func serveAt(t *testing.T, socket, value string) (end func()) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sdk.ServeListener(ctx, opening(constant(value)), l) }()
	return func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("ServeListener: %v", err)
		}
	}
}

func TestAttachedDriverIsFoundAgain(t *testing.T) {
	dir, err := os.MkdirTemp("", "attach")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	d := Attach(Spec{Name: "far", Logger: slog.New(slog.DiscardHandler)}, "unix", socket)
	defer d.Close(t.Context())
	if _, err := d.Open(t.Context(), "s", nil); !errors.Is(err, wire.ErrDriverUnavailable) {
		t.Errorf("Open before anybody serves: %v; want ErrDriverUnavailable", err)
	}

	end := serveAt(t, socket, "first")
	s := eventuallyOpen(t, d)
	if value, _, err := s.Get(t.Context(), "k"); string(value) != "first" {
		t.Errorf("Get = %q, %v; want first", value, err)
	}
	end()
	end = serveAt(t, socket, "second")
	defer end()
	var value []byte
	for limit := time.Now().Add(30 * time.Second); string(value) != "second" && time.Now().Before(limit); time.Sleep(time.Millisecond) {
		value, _, err = s.Get(t.Context(), "k")
	}
	if string(value) != "second" {
		t.Errorf("after the driver has started again Get = %q, %v; want second", value, err)
	}

	if err := d.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, _, err := s.Get(t.Context(), "k"); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("Get after Close: %v; want ErrClosed", err)
	}
	again := Attach(Spec{Name: "far", Logger: slog.New(slog.DiscardHandler)}, "unix", socket)
	defer again.Close(t.Context())
	if _, err := again.Open(t.Context(), "s", nil); err != nil {
		t.Errorf("the driver did not outlive its host: %v", err)
	}
}

func eventuallyOpen(t *testing.T, d *Driver) *RemoteStore {
	t.Helper()
	var s *RemoteStore
	var err error
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		if s, err = d.Open(t.Context(), "s", nil); err == nil {
			return s
		}
	}
	t.Fatalf("Open: %v", err)
	return nil
}
