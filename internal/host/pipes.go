package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// pipes are the three standard streams of a driver process, both ends.
type pipes struct {
	childStdin, childStdout, childStderr *os.File

	lifeline       *os.File
	stdout, stderr *os.File
}

// openPipes makes the streams and writes the greeting, which fits into the
// pipe's buffer.
func openPipes(greeting string) (*pipes, error) {
	p := &pipes{}
	var errs [4]error
	p.childStdin, p.lifeline, errs[0] = os.Pipe()
	p.stdout, p.childStdout, errs[1] = os.Pipe()
	p.stderr, p.childStderr, errs[2] = os.Pipe()
	if errs[0] == nil {
		_, errs[3] = io.WriteString(p.lifeline, greeting)
	}
	if err := errors.Join(errs[:]...); err != nil {
		p.closeChild()
		p.closeHost()
		return nil, fmt.Errorf("make the driver's standard streams: %w", err)
	}
	return p, nil
}

// hurry lets reading end at t, even if something holds the streams open.
func (p *pipes) hurry(t time.Time) {
	_ = p.stdout.SetReadDeadline(t) // pipes have deadlines
	_ = p.stderr.SetReadDeadline(t)
}

func (p *pipes) closeChild() { closeAll(p.childStdin, p.childStdout, p.childStderr) }

func (p *pipes) closeHost() {
	if p != nil {
		closeAll(p.lifeline, p.stdout, p.stderr)
	}
}

// closeAll closes pipe ends; nil ones and closed ones are skipped. Closing one
// can't lose anything.
func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
