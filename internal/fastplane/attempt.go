package fastplane

import "net"

// An attempt is a read or a write that doesn't wait. It is of one goroutine at
// a time.
type attempt struct {
	direction func(func(fd uintptr) bool) error
	once      func(fd uintptr) bool // there is one closure for all attempts
	buf       []byte
	n         int
	err       error
}

func attemptToRead(socket *net.UnixConn) (*attempt, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	return newAttempt(raw.Read, (*attempt).read), nil
}

func attemptToWrite(socket *net.UnixConn) (*attempt, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	return newAttempt(raw.Write, (*attempt).write), nil
}

func newAttempt(direction func(func(uintptr) bool) error, do func(*attempt, int)) *attempt {
	a := &attempt{direction: direction}
	a.once = func(fd uintptr) bool {
		do(a, int(fd))
		return true
	}
	return a
}

// on reads or writes as much of buf as can be at once: nothing is no error.
func (a *attempt) on(buf []byte) (int, error) {
	a.buf, a.n, a.err = buf, 0, nil
	err := a.direction(a.once)
	a.buf = nil
	if err == nil {
		err = a.err
	}
	return a.n, err
}
