package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestASignalEndsAWaitForStdin(t *testing.T) {
	s := newShell(t, testConfig)
	stdin, writer := io.Pipe() // which nobody writes to
	defer writer.Close()
	for _, args := range []string{"set k -", "add k - --raw"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		ended := make(chan int, 1)
		var out, errs bytes.Buffer
		go func() {
			ended <- run(ctx, append([]string{"-c", filepath.Join(s.dir, "config.yaml")}, strings.Fields(args)...), stdin, &out, &errs)
		}()
		select {
		case code := <-ended:
			if code != exitFailed || !strings.Contains(errs.String(), "stdin") {
				t.Errorf("%s: exit %d, %q", args, code, errs.String())
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s still waits for its stdin", args)
		}
		cancel()
	}
}

func TestASignalIsTheExitCode(t *testing.T) {
	s := newShell(t, testConfig)
	stdin, writer := io.Pipe() // which nobody writes to
	defer writer.Close()
	for line, want := range map[string]int{"set k -": 130, "import": 130} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(interruption{syscall.SIGINT}) })
		var out, errs bytes.Buffer
		if code := run(ctx, append([]string{"-c", filepath.Join(s.dir, "config.yaml")}, strings.Fields(line)...), stdin, &out, &errs); code != want {
			t.Errorf("%s: exit %d, want %d; %s", line, code, want, &errs)
		}
	}
}

func TestASignalEndsAWaitForAPipe(t *testing.T) {
	s := newShell(t, testConfig)
	pipe := filepath.Join(s.dir, "pipe") // which nobody writes to
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(interruption{syscall.SIGINT}) })
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"-c", filepath.Join(s.dir, "config.yaml"), "import", pipe}, strings.NewReader(""), io.Discard, io.Discard)
	}()
	select {
	case code := <-ended:
		if code != 130 {
			t.Errorf("exit %d, want 130", code)
		}
	case <-time.After(30 * time.Second):
		t.Error("import still waits for its pipe")
	}
	writer, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0) // lets the reader that was left behind go
	if err == nil {
		writer.Close()
	}
}

// What looks at everything is cut off too, and shows no half of it.
func TestASignalEndsALookAtEverything(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	s := newShell(t, fmt.Sprintf("default: a\nstores:\n  a: {driver: redis, addr: %q, timeout: 60s}\n", silent.Addr()))
	for _, line := range []string{"doctor", "doctor --json", "stores", "stores --json"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(interruption{syscall.SIGINT}) })
		var out, errs bytes.Buffer
		code := run(ctx, append([]string{"-c", filepath.Join(s.dir, "config.yaml")}, strings.Fields(line)...), strings.NewReader(""), &out, &errs)
		if code != 130 || out.Len() > 0 || !strings.Contains(errs.String(), "interrupt") {
			t.Errorf("%s: exit %d, %q, %q", line, code, &out, &errs)
		}
		cancel(nil)
	}
}

// A gone is a stdout whose reader has left.
type gone struct{}

func (gone) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}
}

func TestAReaderThatLeavesEndsTheCommandQuietlyAndCleanly(t *testing.T) {
	s := newShell(t, testConfig)
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("XDG_RUNTIME_DIR", folder)
	if code, _, stderr := s.run("", "set", "k", "1"); code != exitYes {
		t.Fatalf("set: exit %d, %s", code, stderr)
	}
	for _, args := range []string{"get k", "keys", "stores --json", "demo --dir ."} {
		var errs bytes.Buffer
		args := append([]string{"-c", filepath.Join(s.dir, "config.yaml")}, strings.Fields(args)...)
		if code := run(t.Context(), args, strings.NewReader(""), gone{}, &errs); code != exitPipe || errs.Len() > 0 {
			t.Errorf("%s: exit %d, %q", args, code, errs.String())
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v behind, %v", args, left, err)
		}
	}
}
