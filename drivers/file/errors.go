package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cachewright/cachewright/sdk"
	"golang.org/x/sys/unix"
)

// explain makes an error of the file system one for the store's users: where,
// why, and what to do. Errors that speak for themselves it leaves alone.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sdk.ErrCorrupt) {
		return fmt.Errorf("%s: %w; set or delete the key to repair it", path, err)
	}
	if err == errStale || err == errVanishes {
		return fmt.Errorf("%s: %w: %w", path, sdk.ErrUnavailable, err)
	}
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return err
	}
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		path = inner.Path
	}
	if errors.Is(err, sdk.ErrMaybeApplied) {
		return fmt.Errorf("%s: %w", path, err)
	}
	advice, kind := advise(path, errno)
	return fmt.Errorf("%s: %w: %w%s", path, kind, errno, advice)
}

// advise says what an error number means to a store: what the operator can do,
// and a sentinel.
func advise(path string, errno unix.Errno) (advice string, sentinel error) {
	switch errno {
	case unix.ENOSPC, unix.EDQUOT:
		return "; free some space or clear the store", sdk.ErrUnavailable
	case unix.EFBIG:
		return "; the file system or the process's limit (ulimit -f) allows no such file", sdk.ErrTooLarge
	case unix.EACCES, unix.EPERM:
		return fmt.Sprintf("; give uid %d access to it, or change the option path", os.Geteuid()), sdk.ErrUnavailable
	case unix.EROFS:
		return "; entries can be read there but not written", sdk.ErrUnavailable
	case unix.ENOTDIR, unix.ELOOP:
		return blockerOf(path), sdk.ErrUnavailable
	case unix.EISDIR:
		return "; a directory that is not empty stands where a file belongs: move it away", sdk.ErrUnavailable
	case unix.EMFILE, unix.ENFILE:
		return "; raise the limit of open files (ulimit -n)", sdk.ErrOverloaded
	case unix.ENAMETOOLONG:
		return "; choose a shorter path", sdk.ErrUnavailable
	case unix.ENOLCK, unix.ENOTSUP, unix.ENOSYS:
		return "; the store needs a file system with file locks (flock)", sdk.ErrUnavailable
	}
	return "", sdk.ErrUnavailable
}

// blockerOf names the part of a path that keeps it from being a path through
// real directories.
func blockerOf(path string) string {
	at := string(filepath.Separator)
	for _, part := range splitPath(path) {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		if err != nil {
			break
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Sprintf("; %s has become a symbolic link, which is not followed: open the store anew, or put a directory there", at)
		}
		if !info.IsDir() {
			return fmt.Sprintf("; %s is a file where a directory must be: move it away, or change the option path", at)
		}
	}
	return ""
}

// asUnreadable tells what stands in an entry's place and is no file from an
// entry that can't be opened.
func asUnreadable(err error) error {
	switch err {
	case unix.ELOOP:
		return unreadable("it is a symbolic link")
	case unix.ENXIO, unix.EOPNOTSUPP: // Linux and macOS of a socket
		return unreadable("no regular file")
	}
	return err
}
