//go:build unix

package fastplane

import "syscall"

func (a *attempt) write(fd int) {
	for a.n < len(a.buf) {
		n, err := syscall.Write(fd, a.buf[a.n:])
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.EAGAIN {
			return
		}
		if err != nil {
			a.err = err
			return
		}
		a.n += n
	}
}

// read leaves the end of the stream, and what is wrong with it, to the read that
// waits.
func (a *attempt) read(fd int) {
	if n, err := syscall.Read(fd, a.buf); err == nil {
		a.n = n
	}
}
