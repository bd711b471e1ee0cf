package file

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// holdLock holds the lock of a key's folder; the returned function gives it
// back.
func holdLock(t *testing.T, s *store, key string) (release func()) {
	t.Helper()
	n, _ := place(key)
	l, err := s.entries.lock(t.Context(), n, creating)
	must(t, err)
	return l.close
}

// opened counts the open files of this process that have, or had, the path.
func opened(t *testing.T, path string) (count int) {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && (target == path || target == path+" (deleted)") {
			count++
		}
	}
	return count
}

func TestALockWhoseFileWasRemovedIsNoLock(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/fd"); err != nil && runtime.GOOS != "linux" {
		t.Skipf("NOT TESTED: there is no way here to see a waiter's open file: %v", err)
	}
	first, second, third := openTest(t), (*store)(nil), (*store)(nil)
	second, third = openTest(t, at(first.set.root)), openTest(t, at(first.set.root))
	n, _ := place("key")
	lockPath := first.entries.folderPath(n) + "/" + lockName

	releaseFirst := holdLock(t, first, "key")
	done := make(chan error, 1)
	go func() { done <- second.Set(context.WithoutCancel(t.Context()), "key", []byte("value"), sdk.NoExpiry) }()
	for opened(t, lockPath) < 2 {
		time.Sleep(time.Millisecond)
	}
	must(t, os.Remove(lockPath))
	releaseThird := holdLock(t, third, "key") // on a new file
	releaseFirst()
	select {
	case err := <-done:
		t.Error("two writers were in at once")
		done <- err
	case <-time.After(50 * time.Millisecond): // long enough for the fault to show
	}
	releaseThird()
	if err := <-done; err != nil {
		t.Errorf("the waiter failed: %v", err)
	}
	holds(t, first, "key", "value")
}

func TestKeysListsAFolderWhileNobodyChangesIt(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	release := holdLock(t, s, "key")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, _, err := s.Keys(ctx, "", nil, 0)
	fails(t, err, context.DeadlineExceeded)
	release()
	if keys, _ := allKeys(t, s, "", 0); len(keys) != 1 {
		t.Errorf("the keys are %v", keys)
	}
}

func TestAWaiterInTheSameProcessLeavesWithItsContext(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	release := holdLock(t, s, "key")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	fails(t, s.Set(ctx, "key", nil, sdk.NoExpiry), context.Canceled)
	release()
	set(t, s, "key", "value", sdk.NoExpiry)
	holds(t, s, "key", "value")
}
