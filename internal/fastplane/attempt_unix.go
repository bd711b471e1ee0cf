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
