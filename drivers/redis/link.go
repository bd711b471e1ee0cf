package redis

import (
	"net"
	"syscall"
	"time"
)

const (
	// fresh is how long a connection that was used counts as standing.
	fresh = time.Millisecond
	// piece is how much must have left before the server is given time anew.
	piece = 64 << 10
)

// A link is one connection of a lane, as go-redis sees it. It connects when it
// is first written to, keeps its own deadlines, which no silence of the server
// outlasts, and tells its lane whether anything has left.
//
// go-redis asks for a syscall.Conn before it uses a connection again, in order
// to find out whether it still stands; a link answers that by itself.
type link struct {
	lane    *lane
	raw     net.Conn // nil until connected; set under the lane's mutex
	epoch   int64    // of the server when it connected
	greeted bool     // the handshake is over: what is written now are commands
	used    time.Time
	armed   bool // the deadline is set for what comes next
	shut    bool
}

var (
	_ net.Conn     = (*link)(nil)
	_ syscall.Conn = (*link)(nil)
)

func (l *link) Write(b []byte) (int, error) {
	if l.shut {
		return 0, net.ErrClosed
	}
	if l.raw == nil {
		if err := l.lane.connect(l); err != nil {
			return 0, err
		}
	}
	written := 0
	for {
		n, err := l.push(b[written:min(written+piece, len(b))])
		written += n
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

// push writes a piece.
func (l *link) push(b []byte) (int, error) {
	if err := l.lane.arm(l); err != nil {
		return 0, err
	}
	n, err := l.raw.Write(b)
	if l.greeted && (n > 0 || err == nil || !isPlain(l.raw)) {
		l.lane.sent = true
	}
	l.armed = err == nil
	return n, err
}

func (l *link) Read(b []byte) (int, error) {
	if l.shut || l.raw == nil {
		return 0, net.ErrClosed
	}
	if !l.armed {
		if err := l.lane.arm(l); err != nil {
			return 0, err
		}
	}
	l.armed = false
	return l.raw.Read(b)
}

// isPlain tells whether a write that failed with no byte has sent none: TLS may
// have sent a part of a record.
func isPlain(c net.Conn) bool {
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}

func (l *link) Close() error {
	l.shut = true
	return l.lane.disconnect(l)
}

// SyscallConn fails if the connection doesn't stand any more.
func (l *link) SyscallConn() (syscall.RawConn, error) {
	now := time.Now()
	idle := now.Sub(l.used)
	l.used = now
	switch {
	case l.shut || l.raw == nil || l.epoch != l.lane.server.epoch.Load():
		return nil, net.ErrClosed
	case idle < fresh:
		return standing{}, nil
	}
	return standing{}, peek(l.raw)
}

// standing is the syscall.RawConn of a connection that needs no other look.
type standing struct{}

func (standing) Control(func(uintptr)) error    { return nil }
func (standing) Read(func(uintptr) bool) error  { return nil }
func (standing) Write(func(uintptr) bool) error { return nil }

func (l *link) LocalAddr() net.Addr  { return l.address(net.Conn.LocalAddr) }
func (l *link) RemoteAddr() net.Addr { return l.address(net.Conn.RemoteAddr) }

func (l *link) address(of func(net.Conn) net.Addr) net.Addr {
	if l.raw == nil {
		return &net.UnixAddr{Net: "unix"}
	}
	return of(l.raw)
}

// The deadlines that go-redis sets are not those of a link.

func (l *link) SetDeadline(time.Time) error      { return nil }
func (l *link) SetReadDeadline(time.Time) error  { return nil }
func (l *link) SetWriteDeadline(time.Time) error { return nil }
