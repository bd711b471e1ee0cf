package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// hangGuard only fails a test that hangs.
const hangGuard = 30 * time.Second

// mute is a server that accepts connections and never answers.
func mute(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var accepted []net.Conn
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted = append(accepted, conn)
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		wg.Wait()
		for _, conn := range accepted {
			_ = conn.Close()
		}
	})
	return listener.Addr().String()
}

// Every other limit of the configuration is longer than the test, so that it is
// --timeout that ends the command.
func TestATimeoutEndsACommandThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	s := newShell(t, fmt.Sprintf(`default: server
prefix: app
drivers:
  asleep: {run: command, command: [sleep, "3600"], start_timeout: 1h}
stores:
  server: {driver: redis, addr: %q, timeout: 1h, dial_timeout: 1h, stall_timeout: 1h}
  driver: {driver: asleep, timeout: 1h}
`, mute(t)))
	for line, want := range map[string]string{
		"-s server get k":       `get "k" in store server (driver redis): `,
		"-s server set k 1":     `set "k" in store server (driver redis): `,
		"-s server incr n":      `increment "n" in store server (driver redis): `,
		"-s server keys":        `keys in store server (driver redis): `,
		"-s server clear --yes": `clear in store server (driver redis): `,
		"-s driver get k":       `get "k" in store driver (driver asleep): `,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := shell{t, s.dir}.guarded(append(strings.Fields(line), "--timeout", "300ms")...)
			if code != exitFailed || stdout != "" || !strings.Contains(stderr, want) || !strings.Contains(stderr, context.DeadlineExceeded.Error()) {
				t.Errorf("exit %d, %q, %q; want %q", code, stdout, stderr, want)
			}
		})
	}
	for line, want := range map[string]string{
		"stores":           "store server: ",
		"doctor -s server": "store server: ",
		"doctor -s driver": "driver asleep: ",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := shell{t, s.dir}.guarded(append(strings.Fields(line), "--timeout", "300ms")...)
			if code == exitUsage || !strings.Contains(stdout+stderr, want) || !strings.Contains(stdout+stderr, context.DeadlineExceeded.Error()) {
				t.Errorf("exit %d, want %q in\n%s%s", code, want, stdout, stderr)
			}
		})
	}
}

// guarded is run for a command that may hang.
func (s shell) guarded(args ...string) (code int, stdout, stderr string) {
	s.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		code, stdout, stderr = s.run("", args...)
	}()
	select {
	case <-done:
		return code, stdout, stderr
	case <-time.After(hangGuard):
		s.t.Fatalf("cachewright %s is still running after %v", strings.Join(args, " "), hangGuard)
		return 0, "", ""
	}
}
