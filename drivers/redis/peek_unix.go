//go:build unix

package redis

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// peek fails if the other end has closed a connection on which nothing is due.
func peek(c net.Conn) error {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
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
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case n == 0 && err == nil:
			found = io.EOF
		case err != nil && err != syscall.EAGAIN && err != syscall.EINTR:
			found = os.NewSyscallError("recv", err)
		}
		return true
	})
	return errors.Join(err, found)
}
