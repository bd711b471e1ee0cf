package file

import "golang.org/x/sys/unix"

// openPath opens an absolute path and follows no symbolic link anywhere in it.
func openPath(path string, flags int) (int, error) {
	flags = flags&^unix.O_NOFOLLOW | unix.O_NOFOLLOW_ANY | unix.O_CLOEXEC
	return retry(func() (int, error) { return unix.Open(path, flags, 0) })
}

// syncData brings what was written to fd to the disk. A plain fsync stops at
// the drive's own cache here.
func syncData(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0); err == nil {
		return nil
	}
	_, err := retry(func() (int, error) { return 0, unix.Fsync(fd) })
	return err
}

// networkFS names the kind of a file system where locks may not reach other
// machines; "" for a local one.
func networkFS(st *unix.Statfs_t) string {
	switch kind := unix.ByteSliceToString(st.Fstypename[:]); kind {
	case "nfs", "smbfs", "afpfs", "webdav":
		return kind
	}
	return ""
}
