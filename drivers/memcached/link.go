package memcached

import (
	"errors"
	"net"
	"os"
	"time"
)

const (
	// fresh is how long a connection that was used counts as standing.
	fresh = time.Millisecond
	// piece is for how much more of a request a server has another stall timeout.
	piece = 256 << 10
	// headSize is how much of an answer is kept to tell a refusal by.
	headSize = 128
)

var (
	errLeft    = errors.New("the caller has left")
	errSurfeit = errors.New("the answer is larger than is wanted at once")
)

// A link is one connection as gomemcache sees it. It keeps its own deadlines,
// so that no silence outlasts the stall timeout and a large value may take
// longer, and knows whether anything has left. Its lane's worker uses it alone.
type link struct {
	net.Conn // greeted; closed by the lane, or by the server when the store closes
	server   *server
	epoch    int64 // of the server when it connected
	used     time.Time

	// of the exchange under way:
	fate      *fate // nil: nobody cares
	room      int   // how much may be read; 0: any amount
	hasRead   int
	written   int
	hasSent   bool
	armed     bool   // the deadline is set for what comes next
	refused   bool   // nothing was sent, since the caller has left
	head      []byte // how the answer to what was last written starts
	answering bool   // some of it has come
	broken    error  // what reading or writing failed with
}

// begin prepares for an exchange.
func (l *link) begin(room int, f *fate) {
	l.fate, l.room = f, room
	l.hasRead, l.written, l.hasSent, l.refused, l.head, l.broken = 0, 0, false, false, l.head[:0], nil
}

// stands tells whether the connection can be used again.
func (l *link) stands() bool {
	if l.epoch != l.server.epoch.Load() {
		return false
	}
	return time.Since(l.used) < fresh || peek(l.Conn) == nil
}

func (l *link) Write(b []byte) (n int, err error) {
	if !l.hasSent && l.fate != nil && !l.fate.send() {
		l.refused = true
		return 0, errLeft
	}
	if l.answering {
		l.head, l.answering = l.head[:0], false
	}
	for len(b) > n && err == nil {
		some := 0
		l.Conn.SetDeadline(time.Now().Add(l.patience()))
		some, err = l.Conn.Write(b[n:min(len(b), n+piece)])
		n += some
		l.written += some
	}
	l.hasSent = l.hasSent || n > 0 || err == nil || !isPlain(l.Conn)
	l.armed, l.broken = err == nil && l.written < piece, err
	return n, err
}

// patience is how long the server may be silent. What has been written may
// still be on its way.
func (l *link) patience() time.Duration {
	return l.server.stallTimeout * time.Duration(1+l.written/piece)
}

func (l *link) Read(b []byte) (int, error) {
	if !l.armed {
		l.Conn.SetReadDeadline(time.Now().Add(l.patience()))
	}
	l.armed, l.answering = false, true
	n, err := l.Conn.Read(b)
	l.hasRead += n
	if missing := headSize - len(l.head); missing > 0 {
		l.head = append(l.head, b[:min(n, missing)]...)
	}
	if err != nil {
		l.broken = err
	} else if l.overfull() {
		return 0, errSurfeit
	}
	return n, err
}

func (l *link) overfull() bool { return l.room > 0 && l.hasRead > l.room }

// stalled tells whether the server was silent for too long.
func (l *link) stalled() bool { return errors.Is(l.broken, os.ErrDeadlineExceeded) }

func (l *link) Close() error {
	l.server.unlink(l)
	return l.Conn.Close()
}

// cut ends the connection under whoever uses it, and says no goodbye, which over
// TLS might take its time.
func (l *link) cut() {
	if encrypted, ok := l.Conn.(interface{ NetConn() net.Conn }); ok {
		encrypted.NetConn().Close()
		return
	}
	l.Conn.Close()
}

// The deadlines that gomemcache sets are not those of a link.

func (l *link) SetDeadline(time.Time) error      { return nil }
func (l *link) SetReadDeadline(time.Time) error  { return nil }
func (l *link) SetWriteDeadline(time.Time) error { return nil }

// isPlain tells whether a write that failed with no byte has sent none: TLS may
// have sent a part of a record.
func isPlain(c net.Conn) bool {
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}
