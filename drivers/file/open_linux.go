package file

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noOpenat2 is set on kernels before 5.6 and under filters that answer like
// them.
var noOpenat2 atomic.Bool

// openPath opens an absolute path and follows no symbolic link anywhere in it.
// One openat2 costs a third of what os.Root's walk does.
func openPath(path string, flags int) (int, error) {
	if noOpenat2.Load() {
		return openByWalking(path, flags)
	}
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC), Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := retry(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, path, &how) })
	switch err {
	case unix.ENOSYS:
		noOpenat2.Store(true)
		return openByWalking(path, flags)
	case unix.EPERM: // the file's refusal, or an older filter's of the call
		return openByWalking(path, flags)
	}
	return fd, err
}

// openByWalking does it with a call for each part of the path.
func openByWalking(path string, flags int) (int, error) {
	parts := splitPath(path)
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i := 0; err == nil && i < len(parts); i++ {
		step := unix.O_PATH | unix.O_DIRECTORY
		if i == len(parts)-1 {
			step = flags
		}
		parent := fd
		fd, err = openAt(parent, parts[i], step, 0)
		_ = unix.Close(parent)
	}
	return fd, err
}

// syncData brings what was written to fd to the disk.
func syncData(fd int) error {
	_, err := retry(func() (int, error) { return 0, unix.Fdatasync(fd) })
	return err
}

// networkFS names the kind of a file system where locks may not reach other
// machines; "" for a local one.
func networkFS(st *unix.Statfs_t) string {
	switch uint32(st.Type) { // some are negative as an int32
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "SMB"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.CEPH_SUPER_MAGIC:
		return "Ceph"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "AFS"
	}
	return ""
}
