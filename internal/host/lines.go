package host

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// A line is one line of a driver's output, without its end. Of a line longer
// than the reader's limit only the two ends are kept.
type line struct {
	head, tail []byte // the same bytes unless the line was cut
	size       int
}

func (l line) cut() bool { return l.size > len(l.head) }

// eachLine calls f with every line of r until r ends, for whatever reason. It
// holds at most about three times limit bytes, however long a line is. The
// slices are f's until it returns.
func eachLine(r io.Reader, limit int, f func(line)) {
	in := bufio.NewReaderSize(r, limit)
	var l line
	for {
		chunk, err := in.ReadSlice('\n')
		l.add(chunk, limit)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if l.size > 0 {
			f(l.trimmed())
		}
		if err != nil {
			return
		}
		l = line{head: l.head[:0], tail: l.tail[:0]}
	}
}

func (l *line) add(chunk []byte, limit int) {
	l.size += len(chunk)
	if room := limit - len(l.head); room > 0 {
		l.head = append(l.head, chunk[:min(room, len(chunk))]...)
	}
	l.tail = append(l.tail, chunk...)
	if excess := len(l.tail) - limit; excess > 0 {
		l.tail = append(l.tail[:0], l.tail[excess:]...)
	}
}

// trimmed drops the line's end, "\n" or "\r\n".
func (l line) trimmed() line {
	before := len(l.tail)
	l.tail = bytes.TrimRight(l.tail, "\r\n")
	l.size -= before - len(l.tail)
	l.head = l.head[:min(len(l.head), l.size)]
	return l
}

// A lineWriter cuts what is written to it into lines. Those that are too long
// are cut into several.
type lineWriter struct {
	line func(line)
	rest []byte
}

// Write always takes everything.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		end := bytes.IndexByte(w.rest, '\n')
		if end < 0 && len(w.rest) < handshakeWindow {
			return len(p), nil
		}
		if end < 0 {
			end = len(w.rest) - 1
		}
		w.line(line{head: w.rest[:end+1], tail: w.rest[:end+1], size: end + 1}.trimmed())
		w.rest = append(w.rest[:0], w.rest[end+1:]...)
	}
}
