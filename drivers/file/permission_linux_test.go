package file

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cachewright/cachewright/sdk"
	"golang.org/x/sys/unix"
)

// asMortal takes from the test's thread what lets root pass any permission.
func asMortal(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	must(t, unix.Capget(&head, &caps[0]))
	mortal := caps
	mortal[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
	must(t, unix.Capset(&head, &mortal[0]))
	t.Cleanup(func() {
		must(t, unix.Capset(&head, &caps[0]))
		runtime.UnlockOSThread()
	})
}

// restrict changes permissions for the time of the test.
func restrict(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	old := permissions(t, path)
	must(t, os.Chmod(path, mode))
	t.Cleanup(func() { must(t, os.Chmod(path, old)) })
}

func TestADirectoryThatCantBeReadIsAClearError(t *testing.T) {
	asMortal(t)
	s := openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	restrict(t, s.set.root, 0)
	_, _, err := s.Get(t.Context(), "key")
	fails(t, err, sdk.ErrUnavailable, s.set.root, "permission denied", "give uid", "option path")
	fails(t, s.Set(t.Context(), "key", nil, 0), sdk.ErrUnavailable, s.set.root, "permission denied")
	fails(t, s.Ping(t.Context()), sdk.ErrUnavailable, s.set.root, "permission denied")
	_, _, err = s.Keys(t.Context(), "", nil, 0)
	fails(t, err, sdk.ErrUnavailable, s.set.root, "permission denied")
}

func TestAReadOnlyDirectoryCanBeReadAndSaysWhyItCantBeWritten(t *testing.T) {
	asMortal(t)
	ctx, s := t.Context(), openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	folders, err := filepath.Glob(s.set.root + "/entries/*")
	must(t, err)
	for _, dir := range append(folders, s.entries.path, s.set.root) {
		restrict(t, dir, 0o500)
	}
	holds(t, s, "key", "value")
	if _, ok, err := s.TTL(ctx, "key"); !ok || err != nil {
		t.Errorf("the entry has no TTL: %v", err)
	}
	if keys, _, err := s.Keys(ctx, "", nil, 0); len(keys) != 1 || err != nil {
		t.Errorf("the keys are %v: %v", keys, err)
	}
	must(t, s.Ping(ctx))
	fails(t, s.Set(ctx, "key", nil, 0), sdk.ErrUnavailable, fileOf(s, "key"), "permission denied")
	fails(t, s.Set(ctx, "another", nil, 0), sdk.ErrUnavailable, s.entries.path, "permission denied")
	_, err = s.Delete(ctx, "key")
	fails(t, err, sdk.ErrUnavailable, fileOf(s, "key"), "permission denied")
	_, _, err = s.Pull(ctx, "key")
	fails(t, err, sdk.ErrUnavailable, "permission denied")
	holds(t, s, "key", "value")
	warns(t, s, "directory.mode", "read but not written")
}

func TestALockThatAnotherUserOwnsIsAClearErrorForWritesOnly(t *testing.T) {
	asMortal(t)
	s := openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	n, _ := place("key")
	restrict(t, s.entries.folderPath(n)+"/"+lockName, 0)
	holds(t, s, "key", "value")
	if keys, _, err := s.Keys(t.Context(), "", nil, 0); len(keys) != 1 || err != nil {
		t.Errorf("the keys are %v: %v", keys, err)
	}
	fails(t, s.Set(t.Context(), "key", nil, 0), sdk.ErrUnavailable, "permission denied")
}

func TestAnEntryThatMayNotBeReadIsNoMissAndCanBeReplaced(t *testing.T) {
	asMortal(t)
	s := openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	must(t, os.Chmod(fileOf(s, "key"), 0))
	_, _, err := s.Get(t.Context(), "key")
	fails(t, err, sdk.ErrUnavailable, fileOf(s, "key"), "permission denied")
	set(t, s, "key", "new", sdk.NoExpiry)
	holds(t, s, "key", "new")
}

func TestAParentThatTakesNoDirectoryIsNamed(t *testing.T) {
	asMortal(t)
	parent := t.TempDir()
	s := openTest(t, at(parent+"/cache"))
	restrict(t, parent, 0o500)
	holds(t, s, "key", "")
	fails(t, s.Set(t.Context(), "key", nil, 0), sdk.ErrUnavailable, parent+"/cache", "permission denied")
	fails(t, s.Ping(t.Context()), sdk.ErrUnavailable, parent, "permission denied")
}

// The way of old kernels gives the same answers.
func TestWithoutOpenat2NothingChanges(t *testing.T) { // not parallel: the switch is global
	noOpenat2.Store(true)
	defer noOpenat2.Store(false)
	s := openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	holds(t, s, "key", "value")
	holds(t, s, "other", "")
	must(t, os.Rename(s.entries.path, s.set.root+"/moved"))
	must(t, os.Symlink("moved", s.entries.path))
	_, _, err := s.Get(t.Context(), "key")
	fails(t, err, sdk.ErrUnavailable, "/entries has become a symbolic link")
}
