package host

import "golang.org/x/sys/unix"

// onNoexec reports whether path lies on a file system from which nothing may be
// executed.
func onNoexec(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_NOEXEC != 0
}
