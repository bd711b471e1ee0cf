package file

import "golang.org/x/sys/unix"

// readFlags open an entry. A pipe in its place must not block the open.
const readFlags = unix.O_RDONLY | unix.O_NONBLOCK

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// openAt opens a name in a directory, and no symbolic link.
func openAt(dir int, name string, flags int, mode uint32) (int, error) {
	return retry(func() (int, error) {
		return unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	})
}

// createAt creates a file of exactly the mode; one that exists is EEXIST.
func createAt(dir int, name string, flags int, mode uint32) (int, error) {
	fd, err := openAt(dir, name, flags|unix.O_CREAT|unix.O_EXCL, mode)
	if err != nil {
		return -1, err
	}
	if err := unix.Fchmod(fd, mode); err != nil { // the umask took its share
		_ = unix.Close(fd)
		_ = unix.Unlinkat(dir, name, 0)
		return -1, err
	}
	return fd, nil
}

// makeDir creates a directory of exactly the mode, or leaves the one that is
// there alone.
func makeDir(path string, mode uint32) error {
	if err := unix.Mkdir(path, mode); err != nil {
		if err == unix.EEXIST {
			return nil
		}
		return err
	}
	fd, err := openPath(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.ENOENT {
		return nil // gone again; whoever needs it will see
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fchmod(fd, mode)
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := retry(func() (int, error) { return unix.Write(fd, b) })
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// read reads what is there, up to the length of b. Of a regular file that is
// all of it, or a full b.
func read(fd int, b []byte) (int, error) {
	return retry(func() (int, error) { return unix.Read(fd, b) })
}
