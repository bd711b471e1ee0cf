package docs

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThePageOnTelemetryServesMetrics(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile(filepath.Join(".", "config.yaml"), []byte("default: memory\nstores:\n  memory: {driver: memory}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serveMetrics(context.WithoutCancel(t.Context()), listener) }()
	answer, err := http.Get("http://" + listener.Addr().String() + "/metrics") // waits until it is served
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || !strings.Contains(string(text), `cachewright_driver_ready{driver="memory"`) {
		t.Errorf("%v, %s", err, text)
	}
	listener.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func TestTheBlocksOnRepositoriesRun(t *testing.T) {
	m := memoryManager(t)
	var built bool
	build := func(context.Context) error { built = true; return nil }
	if err := asserted(t.Context(), m, build); err != nil || !built {
		t.Errorf("asserted: built: %t, %v", built, err)
	}
	if err := listed(t.Context(), m); err != nil {
		t.Errorf("listed: %v", err)
	}
}
