package file

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/cachewright/cachewright/sdk"
	"golang.org/x/sys/unix"
)

const (
	// joined is up to which size header and value are written by one call.
	joined = 64 << 10
	// chunk is how much is written between two looks at the context.
	chunk = 1 << 20
)

// put stores an entry under name: it writes a file aside and renames it, so
// that a reader, a crash or a full disk finds the old entry or the new one. The
// file aside exists only while its writer holds the folder's lock, so whoever
// finds one under the lock may remove it.
func (l lockedFolder) put(ctx context.Context, name, key string, deadline int64, value []byte) error {
	temp := tempHead + rand.Text()
	fd, err := createAt(l.fd, temp, unix.O_WRONLY, l.set.fileMode)
	if err == unix.ENOENT {
		return errStale
	}
	if err != nil {
		return err
	}
	err = l.fill(ctx, fd, key, deadline, value)
	if closeErr := unix.Close(fd); err == nil && closeErr != unix.EINTR {
		err = closeErr // where network file systems report a full disk
	}
	if err == nil {
		err = l.rename(temp, name)
	}
	if err != nil {
		_ = unix.Unlinkat(l.fd, temp, 0)
	}
	return err
}

func (l lockedFolder) fill(ctx context.Context, fd int, key string, deadline int64, value []byte) error {
	size := aroundKey + len(key)
	if size+len(value) <= joined {
		size += len(value)
	}
	first := appendHeader(make([]byte, 0, size), key, deadline, value)
	if size > len(first) {
		first, value = append(first, value...), nil
	}
	if err := writeAll(fd, first); err != nil {
		return err
	}
	for len(value) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(chunk, len(value))
		if err := writeAll(fd, value[:n]); err != nil {
			return err
		}
		value = value[n:]
	}
	if l.set.syncData {
		return syncData(fd)
	}
	return nil
}

// rename gives the file its entry's name. A directory there, which can't be
// ours, makes way if it is empty.
func (l lockedFolder) rename(temp, name string) error {
	err := unix.Renameat(l.fd, temp, l.fd, name)
	switch err {
	case unix.ENOENT:
		return errStale
	case unix.EIO, unix.ETIMEDOUT:
		return fmt.Errorf("%w: %w", sdk.ErrMaybeApplied, err)
	case unix.EISDIR, unix.EEXIST, unix.ENOTEMPTY:
		if unix.Unlinkat(l.fd, name, unix.AT_REMOVEDIR) == nil {
			return unix.Renameat(l.fd, temp, l.fd, name)
		}
	}
	return err
}
