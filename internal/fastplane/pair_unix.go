//go:build unix

package fastplane

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// sendBuffer is what each end asks the system to buffer, in bytes.
const sendBuffer = 1 << 20

// Pair makes the two ends of a plane: the host's, and the one that a driver's
// process inherits. The caller closes the latter once that has happened.
func Pair() (host *net.UnixConn, driver *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	for _, fd := range fds {
		// What the system grants of it: a burst that fits costs no wait.
		_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, sendBuffer)
	}
	driver = os.NewFile(uintptr(fds[1]), "fast plane")
	host, err = Connect(os.NewFile(uintptr(fds[0]), "fast plane"))
	if err != nil {
		_ = driver.Close() // err says what is wrong
		return nil, nil, err
	}
	return host, driver, nil
}

// Inherited makes a connection of a descriptor that a host should have left. If
// it is no connected socket, somebody else has put it there since, and it stays
// as it is.
func Inherited(descriptor uintptr) (*net.UnixConn, error) {
	if _, err := syscall.Getpeername(int(descriptor)); err != nil {
		return nil, fmt.Errorf("descriptor %d is not the socket that the host offered: %w", descriptor, err)
	}
	return Connect(os.NewFile(descriptor, "fast plane"))
}

// Connect makes a connection of one end, which it takes over.
func Connect(end *os.File) (*net.UnixConn, error) {
	defer end.Close()
	conn, err := net.FileConn(end)
	if err != nil {
		return nil, err
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok || conn.LocalAddr().Network() != "unix" {
		_ = conn.Close() // it is not ours
		return nil, fmt.Errorf("the descriptor of the fast plane is a %s socket", conn.LocalAddr().Network())
	}
	return socket, nil
}
