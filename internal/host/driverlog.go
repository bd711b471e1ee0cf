package host

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	stderrLineLimit = 64 << 10 // of one line of stderr in the host's log
	tailLines       = 50       // lines kept for the error of a failed start
	tailLineLimit   = 1 << 10  // of each of them
)

// A driverLog carries what a driver process prints into the host's log and
// remembers the last lines of it.
type driverLog struct {
	log *slog.Logger

	mu        sync.Mutex
	tail      []string
	panicking bool // a Go program's last words have begun
}

// stderr takes one line of the driver's stderr.
func (d *driverLog) stderr(l line) {
	text := printable(l)
	if text == "" {
		return
	}
	e := parseLog(text)
	d.remember(text)
	d.log.LogAttrs(context.Background(), d.level(text, e.level), e.message, e.attrs...)
}

// noise takes a line that the driver printed to stdout, where only the
// handshake belongs.
func (d *driverLog) noise(l line) {
	text := printable(l)
	if text == "" {
		return
	}
	d.remember("stdout: " + text)
	d.log.LogAttrs(context.Background(), slog.LevelInfo, text, slog.String("stream", "stdout"))
}

// lastLines returns a copy of the last lines that the driver printed.
func (d *driverLog) lastLines() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.tail...)
}

func (d *driverLog) remember(text string) {
	if len(text) > tailLineLimit {
		text = strings.ToValidUTF8(text[:tailLineLimit], "") + "…"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.tail) == tailLines {
		d.tail = append(d.tail[:0], d.tail[1:]...)
	}
	d.tail = append(d.tail, text)
}

// level raises a Go program's last words, which carry no level, to errors.
func (d *driverLog) level(text string, found slog.Level) slog.Level {
	d.mu.Lock()
	defer d.mu.Unlock()
	if strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") {
		d.panicking = true
	}
	if d.panicking {
		return max(found, slog.LevelError)
	}
	return found
}

// printable is a line as text that a log can take: valid UTF-8, and marked
// where it was cut.
func printable(l line) string {
	text := string(l.head)
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if l.cut() {
		return text + "…"
	}
	return strings.TrimRight(text, " \t")
}
