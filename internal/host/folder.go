package host

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
)

// A folder is the private place of one driver process: its socket is there and,
// where a pin asks for it, a copy of its program. The lock on it shows other
// hosts, and those who tidy up temporary files, that it is in use.
type folder struct {
	path string
	lock *flock.Flock
}

const (
	folderPrefix = "cachewright-run-"
	// programName is a verified copy of the driver's program.
	programName = "driver"
	// socketPathLimit keeps below what systems allow, 104 bytes on macOS.
	socketPathLimit = 100
	// longestSocket is the longest name that go-plugin gives a socket.
	longestSocket = "plugin4294967295"
)

// newFolder makes a folder that only this user can enter, and removes those
// that hosts left behind when they died.
func newFolder() (*folder, error) {
	var problems []error
	for _, base := range folderBases() {
		f, err := newFolderIn(base)
		if err == nil {
			return f, nil
		}
		problems = append(problems, err)
	}
	return nil, fmt.Errorf("no folder for the driver's socket (set XDG_RUNTIME_DIR or TMPDIR to a short path that is writable): %w",
		errors.Join(problems...))
}

func folderBases() []string {
	bases := []string{os.TempDir(), "/dev/shm", "/tmp"}
	if runtimeDir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtimeDir) {
		return append([]string{runtimeDir}, bases...)
	}
	return bases
}

func newFolderIn(base string) (*folder, error) {
	if size := len(filepath.Join(base, newFolderName(), longestSocket)); size >= socketPathLimit {
		return nil, fmt.Errorf("%s: a socket there would have a path of %d bytes, and the limit is %d",
			base, size, socketPathLimit)
	}
	sweep(base)
	f, err := createFolder(filepath.Join(base, newFolderName()))
	if err != nil { // another host's sweeper may have been faster than the lock
		f, err = createFolder(filepath.Join(base, newFolderName()))
	}
	return f, err
}

func newFolderName() string { return folderPrefix + strings.ToLower(rand.Text()[:8]) }

func createFolder(path string) (*folder, error) {
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, err
	}
	f := &folder{path: path, lock: lockOn(path)}
	if err := f.claim(); err != nil {
		_ = f.remove() // the error that counts is known
		return nil, fmt.Errorf("claim %s: %w", path, err)
	}
	return f, nil
}

// claim makes a new folder private under any umask and locks it.
func (f *folder) claim() error {
	if err := os.Chmod(f.path, 0o700); err != nil {
		return err
	}
	if locked, err := f.lock.TryLock(); err != nil || !locked {
		return fmt.Errorf("lock it: %w", cmp.Or(err, errors.New("another process was faster")))
	}
	info, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("its mode is %s and stays so", info.Mode())
	}
	return nil
}

// lockOn locks the folder itself, as systemd-tmpfiles asks for.
func lockOn(path string) *flock.Flock {
	return flock.New(path, flock.SetFlag(os.O_RDONLY))
}

// remove ends the folder. It can be called twice.
func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// sweep removes this user's folders in base whose hosts are gone. It is a
// courtesy: what it can't read or remove stays.
func sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() && strings.HasPrefix(entry.Name(), folderPrefix) {
			sweepOne(filepath.Join(base, entry.Name()))
		}
	}
}

func sweepOne(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !ownedByUs(info) {
		return
	}
	lock := lockOn(path)
	defer lock.Close()
	if locked, err := lock.TryLock(); err == nil && locked {
		removeRemains(path)
	}
}

// removeRemains takes what a host leaves in its folder and nothing else: a
// directory of another's that happens to have such a name stays, with all that
// is in it.
func removeRemains(path string) {
	entries, err := os.ReadDir(path)
	if err != nil || slices.ContainsFunc(entries, isForeign) {
		return
	}
	for _, entry := range entries {
		_ = os.Remove(filepath.Join(path, entry.Name())) // a folder only while it is empty
	}
	_ = os.Remove(path)
}

// isForeign reports whether a host would not have left this: it leaves sockets,
// a copy of a program, and the empty folder that go-plugin makes.
func isForeign(entry os.DirEntry) bool {
	switch {
	case entry.Type()&os.ModeSocket != 0:
		return false
	case entry.Type().IsRegular():
		return entry.Name() != programName
	case entry.IsDir():
		return !strings.HasPrefix(entry.Name(), "plugin-dir")
	}
	return true
}
