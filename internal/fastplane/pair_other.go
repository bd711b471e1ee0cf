//go:build !unix

package fastplane

import (
	"errors"
	"net"
	"os"
)

// Pair is for systems where a process inherits a socket.
func Pair() (host *net.UnixConn, driver *os.File, err error) {
	return nil, nil, errors.ErrUnsupported
}

// Connect is for systems where a process inherits a socket.
func Connect(end *os.File) (*net.UnixConn, error) {
	return nil, errors.Join(errors.ErrUnsupported, end.Close())
}

// Inherited fails: nobody offers a plane here.
func Inherited(uintptr) (*net.UnixConn, error) { return nil, errors.ErrUnsupported }
