package sdk

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// maxGreeting bounds the line that a host starts with, in bytes.
const maxGreeting = 1 << 10

// A lifeline reads stdin. The host writes one line and then holds the other end
// open as long as it lives. The goroutine that reads ends with stdin, or with
// the process.
type lifeline struct {
	first chan firstLine
	cut   chan struct{} // closed when stdin ends
}

type firstLine struct {
	text string
	err  error
}

func newLifeline(stdin io.Reader) *lifeline {
	l := &lifeline{first: make(chan firstLine, 1), cut: make(chan struct{})}
	go l.read(stdin)
	return l
}

func (l *lifeline) read(stdin io.Reader) {
	defer close(l.cut)
	r := bufio.NewReaderSize(stdin, maxGreeting)
	text, err := r.ReadSlice('\n')
	l.first <- firstLine{string(text), err}
	io.Copy(io.Discard, r) // whatever ends it, the host can't be heard any more
}

// greeting waits for the host's line and returns its nonce.
func (l *lifeline) greeting() (nonce string, err error) {
	select {
	case line := <-l.first:
		if line.err != nil {
			return "", fmt.Errorf("stdin brought no greeting of a host (%w): only a host starts a driver", line.err)
		}
		return wire.ParseStdinLine(line.text)
	case <-time.After(wire.NonceTimeout):
		return "", fmt.Errorf("no greeting of a host on stdin within %v: only a host starts a driver, and nothing may read stdin before it does", wire.NonceTimeout)
	}
}
