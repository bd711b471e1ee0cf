//go:build unix

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// testDriver serves stores that live in their process, except for counters in
// Dir, each of which is a file that grows by a byte a step: they survive any
// crash and miss no step.
var testDriver = sdk.Define("testmem", "1.2.3", openTestStore)

type testOptions struct {
	Dir     string `option:"dir" doc:"where counters live"`
	Refusal string `option:"refusal" doc:"a file whose existence makes the store refuse to open"`
	Inline  bool   `option:"inline" doc:"makes calls between two frames, as a store may that never waits"`
	Secret  string `option:"secret,secret" doc:"must never be seen in a log"`
}

type testStore struct {
	dir      string
	dispatch sdk.Dispatch

	mu     sync.Mutex
	values map[string][]byte
}

func openTestStore(_ context.Context, o testOptions) (*testStore, error) {
	if o.Refusal != "" {
		if _, err := os.Stat(o.Refusal); err == nil {
			return nil, fmt.Errorf("%w: it is refused", sdk.ErrInvalidOptions)
		}
	}
	s := &testStore{dir: o.Dir, values: map[string][]byte{}}
	if o.Inline {
		s.dispatch = sdk.DispatchInline
	}
	return s, nil
}

func (s *testStore) Traits() sdk.Traits {
	return sdk.Traits{Class: sdk.ClassVolatile, Dispatch: s.dispatch}
}

// Get answers some keys in ways of its own.
func (s *testStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	switch key {
	case "hang":
		<-ctx.Done()
		return nil, false, ctx.Err()
	case "hang for ever":
		select {}
	case "crash":
		os.Exit(9)
	case "panic":
		panic("a call's last words")
	case "panic in a goroutine":
		go panic("a driver's last words")
		select {}
	case "environment":
		return []byte(strings.Join(os.Environ(), "\x00")), true, nil
	case "cut the plane once":
		return nil, false, s.cutPlaneOnce()
	case "descriptors":
		names, err := openDescriptors()
		return []byte(names), true, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok := s.values[key]
	return value, ok, nil
}

// Set writes to stderr, spawns, hangs and stores.
func (s *testStore) Set(ctx context.Context, key string, value []byte, _ time.Duration) error {
	switch key {
	case "stderr":
		os.Stderr.Write(value)
	case "hang":
		<-ctx.Done()
		return fmt.Errorf("%w: %w", sdk.ErrMaybeApplied, ctx.Err())
	case "spawn", "spawn in a session of its own":
		return spawn(string(value), key != "spawn")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = bytes.Clone(value)
	return nil
}

// spawn starts a process that holds the driver's stdout and stderr, and writes
// its number to a file.
func spawn(pidFile string, ownSession bool) error {
	cmd := exec.Command("sleep", "1000")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: ownSession}
	if err := cmd.Start(); err != nil {
		return err
	}
	return os.WriteFile(pidFile, fmt.Append(nil, cmd.Process.Pid), 0o600)
}

func (s *testStore) Delete(_ context.Context, key string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.values[key]
	delete(s.values, key)
	return ok, nil
}

func (s *testStore) Add(_ context.Context, key string, value []byte, _ time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.values[key]; ok {
		return false, nil
	}
	s.values[key] = bytes.Clone(value)
	return true, nil
}

func (s *testStore) Increment(_ context.Context, key string, delta int64, _ time.Duration) (int64, error) {
	if s.dir == "" || delta != 1 {
		return 0, errors.ErrUnsupported
	}
	file, err := os.OpenFile(filepath.Join(s.dir, key), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if _, err := file.Write([]byte{'.'}); err != nil {
		return 0, err
	}
	info, err := file.Stat()
	return info.Size(), err
}

func (s *testStore) WaitLease(ctx context.Context, _ sdk.LeaseRequest) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s *testStore) Close() error { return nil }

func openDescriptors() (string, error) {
	entries, err := os.ReadDir("/dev/fd")
	var names []string
	for _, entry := range entries {
		target, _ := os.Readlink(filepath.Join("/dev/fd", entry.Name()))
		names = append(names, entry.Name()+"="+target)
	}
	return strings.Join(names, " "), err
}
