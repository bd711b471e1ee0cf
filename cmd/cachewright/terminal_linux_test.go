package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A terminal is a pseudo-terminal, and what was written to it.
type terminal struct {
	*os.File // the side of the program

	mu      sync.Mutex // guards below
	written bytes.Buffer
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{File: slave}
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(writerFunc(term.take), master) }) // ends with an error when the last slave is closed
	t.Cleanup(func() {
		slave.Close()
		reading.Wait()
		master.Close()
	})
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	return term
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (term *terminal) take(p []byte) (int, error) {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.written.Write(p)
}

func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.written.String()
}

// shows waits until something has arrived at the other side.
func (term *terminal) shows(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		all := term.text()
		if strings.Contains(all, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the terminal shows %q, and not %q", all, text)
		}
	}
}

func (s shell) args(line string) []string {
	return append([]string{"-c", s.dir + "/config.yaml"}, strings.Fields(line)...)
}

func TestLongWorkShowsItsProgressOnATerminalOnly(t *testing.T) {
	s := newShell(t, testConfig)
	const lines = `{"key":"a","value":1}` + "\n" + `{"key":"b","value":2}` + "\n"
	for line, shown := range map[string]string{
		"import": "import", "keys": "keys", "export": "export", "get-many a b": "get-many", "clear --yes": "clear",
	} {
		s.play([]step{{args: "import", stdin: lines, stdout: "2\n"}}) // and says nothing in a pipe
		term := newTerminal(t)
		var out bytes.Buffer
		if code := run(t.Context(), s.args(line), strings.NewReader(lines), &out, term.File); code != exitYes {
			t.Errorf("%s: exit %d", line, code)
		}
		term.shows(t, shown)
		if strings.ContainsAny(out.String(), "\r\x1b") {
			t.Errorf("%s: the progress is in the output: %q", line, out.String())
		}
	}
}

func TestWhoeverWritesToMemoryIsReminded(t *testing.T) {
	s := newShell(t, testConfig)
	for _, line := range []string{"-s memory set k 1", "-s memory incr n", "-s memory import"} {
		term := newTerminal(t)
		if code := run(t.Context(), s.args(line), strings.NewReader(`{"key":"a","value":1}`), io.Discard, term.File); code != exitYes {
			t.Errorf("%s: exit %d", line, code)
		}
		term.shows(t, "note: store memory lives in its driver's process")
	}
	term := newTerminal(t)
	for _, line := range []string{"set k 1", "get"} {
		run(t.Context(), s.args(line), strings.NewReader(""), io.Discard, term.File)
	}
	term.shows(t, "usage: ") // and so all of it
	if strings.Contains(term.text(), "note: ") {
		t.Errorf("after a store that lasts: %q", term.text())
	}
}

func TestColourIsForTerminals(t *testing.T) {
	s := newShell(t, testConfig)
	const painted, plain = "\x1b[32mready\x1b[0m", "ready"
	onTerminal := func(line string) *terminal {
		term := newTerminal(t)
		if code := run(t.Context(), s.args(line), strings.NewReader(""), term.File, io.Discard); code != exitYes {
			t.Fatalf("%s: exit %d", line, code)
		}
		return term
	}
	onTerminal("drivers").shows(t, painted)
	for line, want := range map[string]bool{"drivers": false, "drivers --color always": true, "drivers --color never": false} {
		if _, out, _ := s.run("", strings.Fields(line)...); strings.Contains(out, painted) != want || !strings.Contains(out, plain) {
			t.Errorf("%s in a pipe: %q", line, out)
		}
	}
	without := func(name, value, line string) {
		term := newTerminal(t)
		t.Setenv(name, value)
		if code := run(t.Context(), s.args(line), strings.NewReader(""), term.File, io.Discard); code != exitYes {
			t.Fatalf("exit %d", code)
		}
		term.shows(t, plain)
		if strings.Contains(term.text(), "\x1b") {
			t.Errorf("%s=%s %s: painted", name, value, line)
		}
	}
	without("NO_COLOR", "1", "drivers")
	without("TERM", "dumb", "drivers")
	without("TERM", "xterm", "drivers --color never")
}

func TestAWatchOnATerminalReplacesItsPicture(t *testing.T) {
	s := newShell(t, tidyConfig)
	term := newTerminal(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, s.args("stores --watch"), strings.NewReader(""), term.File, io.Discard) }()
	term.shows(t, "every 2s, at ")
	stop()
	if code := <-ended; code != exitYes {
		t.Errorf("interrupted: exit %d", code)
	}
	term.shows(t, "\x1b[2J\x1b[HSTORE")
}

// width makes the terminal that many columns wide.
func (term *terminal) width(t *testing.T, columns uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(term.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 5, Col: columns}); err != nil {
		t.Fatal(err)
	}
}

func TestProgressFitsIntoTheTerminal(t *testing.T) {
	s := newShell(t, testConfig)
	const lines = `{"key":"a","value":1}` + "\n" + `{"key":"b","value":2}` + "\n"
	for columns, shown := range map[uint16]bool{1: false, 10: false, 39: false, 40: true, 60: true, 79: true, 200: true} {
		for _, line := range []string{"import", "export", "clear --yes"} {
			s.play([]step{{args: "import", stdin: lines, stdout: "2\n"}})
			term := newTerminal(t)
			term.width(t, columns)
			if code := run(t.Context(), s.args(line), strings.NewReader(lines), io.Discard, term.File); code != exitYes {
				t.Errorf("%s: exit %d", line, code)
			}
			fmt.Fprint(term.File, "over")
			term.shows(t, "over")
			for picture := range strings.SplitSeq(term.text(), "\r") {
				if n := len([]rune(picture)); n >= int(columns) && (shown || n > len("over")) {
					t.Errorf("%s, %d columns: a line of %d: %q", line, columns, n, picture)
				}
			}
			if got := term.text() != "over"; got != shown {
				t.Errorf("%s, %d columns: shows %q", line, columns, term.text())
			}
		}
	}
}

// What is said beside a progress begins a line of its own.
func TestNothingIsSaidBehindTheProgress(t *testing.T) {
	s := newShell(t, testConfig)
	for _, test := range []struct{ line, stdin, said string }{
		{"import", `{"key":"a","value":1}`, "1\r\n"},
		{"import", `{"key":"a","value":1}` + "\nx", "1\r\n"},
		{"-s raw export", "", ""},
	} {
		term := newTerminal(t)
		run(t.Context(), s.args(test.line), strings.NewReader(test.stdin), term.File, term.File)
		fmt.Fprint(term.File, "over")
		term.shows(t, "over")
		text := term.text()
		pictures := strings.Split(text, "\r")
		for i, picture := range pictures {
			if said := strings.TrimSpace(strings.TrimSuffix(test.said, "\r\n")); said != "" && strings.HasSuffix(picture, said) && picture != said {
				t.Errorf("%s: %q is said behind %q", test.line, said, strings.TrimSuffix(picture, said))
			}
			if i == len(pictures)-1 && strings.TrimLeft(picture, "\n") != "over" {
				t.Errorf("%s: it ends with %q", test.line, picture)
			}
		}
	}
}
