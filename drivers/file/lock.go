package file

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A gate lets one goroutine of this process at a time try for a folder's lock.
// The lock belongs to an open file, so that without a gate each waiting
// goroutine would hold one and poll it.
type gate chan struct{}

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) leave() { <-g }

// A lockedFolder is a folder that nobody else changes until it is closed. The
// lock is the operating system's on an open file: when its process dies in
// whatever way, the lock is free.
type lockedFolder struct {
	folder
	lockFD int
	gate   gate
}

// close gives the lock back.
func (l lockedFolder) close() {
	_ = unix.Close(l.lockFD)
	l.folder.close()
	l.gate.leave()
}

var (
	errStale    = errors.New("the folder was removed in the meantime")
	errVanishes = errors.New("the folder is removed again and again")
)

// lock waits for the lock of folder n, which it creates if create says so; else
// a missing folder is unix.ENOENT. It holds off writers in all processes;
// readers never ask for it.
func (t *tree) lock(ctx context.Context, n byte, create bool) (l lockedFolder, err error) {
	gate := t.gates[n]
	if err := gate.enter(ctx); err != nil {
		return l, err
	}
	defer func() {
		if err != nil {
			gate.leave()
		}
	}()
	for attempt := range maxAttempts {
		l, err = t.lockExisting(ctx, n, gate)
		if err == unix.ENOENT && create {
			err = t.create(n)
			if err == nil || errors.Is(err, unix.ENOENT) {
				err = errStale
			}
		}
		if err != errStale {
			return l, err
		}
		if err := pause(ctx, time.Duration(attempt)*100*time.Microsecond); err != nil {
			return l, err
		}
	}
	return l, errVanishes
}

// locked runs fn under the lock of folder n. Where there is no folder, and none
// is to be created, it doesn't run fn.
func (t *tree) locked(ctx context.Context, n byte, create bool, fn func(lockedFolder) error) error {
	l, err := t.lock(ctx, n, create)
	if err == unix.ENOENT && !create {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.close()
	return fn(l)
}

func (t *tree) lockExisting(ctx context.Context, n byte, gate gate) (lockedFolder, error) {
	f, err := t.open(n)
	if err != nil {
		return lockedFolder{}, err
	}
	fd, err := f.lockFile()
	if err != nil {
		f.close()
		return lockedFolder{}, err
	}
	l := lockedFolder{f, fd, gate}
	err = awaitLock(ctx, fd)
	if err == nil && !linked(fd) {
		err = errStale // and others may hold the lock of a new folder
	}
	if err != nil {
		_ = unix.Close(fd)
		f.close()
	}
	return l, err
}

// lockFile opens the file that carries the folder's lock. It is opened for
// writing since NFS asks for that; where only reading is allowed, that will do.
func (f folder) lockFile() (int, error) {
	for range maxAttempts {
		fd, err := openAt(f.fd, lockName, unix.O_RDWR|unix.O_NONBLOCK, 0)
		switch err {
		case unix.ENOENT:
			fd, err = createAt(f.fd, lockName, unix.O_RDWR, f.set.fileMode)
		case unix.EACCES, unix.EROFS:
			fd, err = openAt(f.fd, lockName, readFlags, 0)
		}
		if err == unix.ENOENT {
			return -1, errStale
		}
		if err != unix.EEXIST { // else another has just created it
			return fd, err
		}
	}
	return -1, errVanishes
}

// linked reports whether an open file still has a name.
func linked(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Nlink > 0
}

// Locks are held for the time of a write, so a waiter yields a few times before
// it sleeps, and then sleeps shortly.
const (
	lockYields   = 30
	lockMinSleep = 100 * time.Microsecond
	lockMaxSleep = 4 * time.Millisecond
)

// awaitLock takes the lock of an open file. The kernel's own wait can't be
// cancelled, so this one polls.
func awaitLock(ctx context.Context, fd int) error {
	sleep := lockMinSleep
	for attempt := 0; ; attempt++ {
		_, err := retry(func() (int, error) { return 0, unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
		if err != unix.EWOULDBLOCK {
			return err
		}
		if attempt < lockYields && ctx.Err() == nil {
			runtime.Gosched()
			continue
		}
		if err := pause(ctx, sleep/2+rand.N(sleep)); err != nil {
			return err
		}
		sleep = min(2*sleep, lockMaxSleep)
	}
}

// pause sleeps for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
