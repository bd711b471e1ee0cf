//go:build unix

package memcached

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// errUnasked is what a connection has on which the server speaks unasked.
var errUnasked = errors.New("the server has said something unasked")

// peek fails if the other end has closed a connection on which nothing is due,
// or has said something: over TLS that may be a matter of TLS.
func peek(c net.Conn) error {
	encrypted, ok := c.(interface{ NetConn() net.Conn })
	if ok {
		c = encrypted.NetConn()
	}
	s, isSocket := c.(syscall.Conn)
	if !isSocket {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	var found error
	err = raw.Read(func(fd uintptr) bool {
		found = peekAt(int(fd))
		return true
	})
	if ok && found == errUnasked {
		found = nil
	}
	return errors.Join(err, found)
}

func peekAt(fd int) error {
	var b [1]byte
	n, _, err := syscall.Recvfrom(fd, b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	switch {
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return nil
	case err != nil:
		return os.NewSyscallError("recv", err)
	case n == 0:
		return io.EOF
	}
	return errUnasked
}
