package lockcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin"
)

// configVariable makes the test binary a worker process.
const configVariable = "CACHEWRIGHT_LOCKCHECK_CONFIG"

// quickExit spares processes under the race detector a second at their end.
const quickExit = "atexit_sleep_ms=0"

// TestMain lets the test binary be a driver (which package builtin sees to
// before this runs), a worker process, or the tests.
func TestMain(m *testing.M) {
	if config := os.Getenv(configVariable); config != "" {
		if err := beWorker(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func beWorker(config string) (err error) {
	var c cache.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	ctx := context.Background()
	m, err := cache.OpenConfig(ctx, c, cache.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		err = errors.Join(err, m.Close(ctx))
	}()
	return Work(ctx, m, "", os.Stdin, os.Stdout)
}

// workers makes worker processes with a store, whose calls take a transport.
func workers(t testing.TB, store cache.StoreConfig, transport string) func() *exec.Cmd {
	t.Helper()
	config, err := json.Marshal(cache.Config{
		Default: "main", Prefix: "app", Stores: map[string]cache.StoreConfig{"main": store},
		Drivers: map[string]cache.DriverConfig{store.Driver: {Run: "builtin", Transport: transport, Env: map[string]string{"GORACE": quickExit}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return func() *exec.Cmd {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), configVariable+"="+string(config), "GORACE="+quickExit)
		return cmd
	}
}
