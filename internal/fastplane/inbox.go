package fastplane

import (
	"io"
	"net"
)

const (
	smallBuffer = 16 << 10
	// largeBuffer holds the largest frame.
	largeBuffer = 2 * maxFrame
	// calmReads is after how many reads that would have fitted a small buffer a
	// large one is given up.
	calmReads = 256
)

// An inbox takes frames off a connection. It is resumable: a read that was
// interrupted by its deadline loses nothing.
type inbox struct {
	socket *net.UnixConn
	reader *attempt
	buf    []byte
	start  int // of what has not been taken
	end    int
	calm   int
	news   bool // the last read brought something
}

func newInbox(socket *net.UnixConn) (*inbox, error) {
	reader, err := attemptToRead(socket)
	if err != nil {
		return nil, err
	}
	return &inbox{socket: socket, reader: reader, buf: make([]byte, smallBuffer)}, nil
}

// next returns the next frame that is there, if it is whole. Its part is valid
// until the next fill.
func (in *inbox) next() (f frame, ok bool, err error) {
	f, length, err := parseFrame(in.buf[in.start:in.end])
	if err != nil || length == 0 {
		return f, false, err
	}
	in.start += length
	return f, true, nil
}

// poll reads what there is, which may be nothing.
func (in *inbox) poll() bool {
	in.makeRoom()
	n, _ := in.reader.on(in.buf[in.end:]) // fill says what is wrong
	in.came(n)
	return n > 0
}

// fill reads once, and waits for something to read.
func (in *inbox) fill() error {
	in.makeRoom()
	n, err := in.socket.Read(in.buf[in.end:])
	in.came(n)
	if n > 0 {
		return nil
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

func (in *inbox) came(n int) {
	in.end += n
	in.news = n > 0
}

// makeRoom moves what is left to the beginning, into a buffer of the right
// size: one that was filled grows, one that has long been too large shrinks.
func (in *inbox) makeRoom() {
	if !in.news {
		return // nothing has come since
	}
	left := in.buf[in.start:in.end]
	size := len(in.buf)
	switch {
	case in.end == len(in.buf):
		size, in.calm = largeBuffer, 0
	case in.end > smallBuffer:
		in.calm = 0
	default:
		in.calm++
	}
	if size == largeBuffer && in.calm > calmReads && len(left) == 0 {
		size = smallBuffer
	}
	to := in.buf
	if size != len(to) {
		to = make([]byte, size)
	}
	copy(to, left)
	in.buf, in.start, in.end = to, 0, len(left)
}
