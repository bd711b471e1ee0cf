package drivertest

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/cachewright/cachewright/internal/host"
	"github.com/cachewright/cachewright/sdk"
)

// serveHere serves d on a socket and connects to it: both ends of the wire are
// in this process.
func serveHere(t testing.TB, d sdk.Driver) process {
	t.Helper()
	dir, err := os.MkdirTemp("", "drivertest") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatalf("a folder for the socket: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatalf("a socket for the driver: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- sdk.ServeListener(ctx, d, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("the driver did not end well: %v", err)
		}
	})
	driver := host.Attach(host.Spec{Name: d.Name, Logger: slog.New(slog.DiscardHandler)}, "unix", socket)
	t.Cleanup(func() { driver.Close(context.WithoutCancel(t.Context())) })
	return remote{driver}
}
