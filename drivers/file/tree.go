package file

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// folders is the number of folders in a tree, one for each value of a byte.
// With a million entries a folder has four thousand, which every file system
// takes; a small cache fills few folders and is quickly walked.
const folders = 256

// maxAttempts bounds how often an operation starts over because its folder was
// removed under it.
const maxAttempts = 100

// A tree is a directory with a folder for each value of a byte.
type tree struct {
	set   *settings
	path  string
	gates [folders]gate
}

func newTree(set *settings, name string) *tree {
	t := &tree{set: set, path: filepath.Join(set.root, name)}
	for n := range t.gates {
		t.gates[n] = make(gate, 1)
	}
	return t
}

func (t *tree) folderPath(n byte) string { return t.path + "/" + folderName(n) }

func (t *tree) filePath(n byte, name string) string { return t.folderPath(n) + "/" + name }

// create makes folder n, and the directories above it where they are missing.
// Those that exist keep their permissions. unix.ENOENT means that somebody
// removes directories at the same time.
func (t *tree) create(n byte) error {
	if err := os.MkdirAll(filepath.Dir(t.set.root), os.FileMode(t.set.dirMode&0o777)); err != nil {
		return err
	}
	for _, path := range []string{t.set.root, t.path, t.folderPath(n)} {
		if err := makeDir(path, t.set.dirMode); err != nil {
			return err
		}
	}
	return nil
}

// existing lists the folders that there are.
func (t *tree) existing() ([]byte, error) {
	fd, err := openPath(t.path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.ENOENT {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), t.path)
	defer dir.Close()
	names, err := readNames(dir, -1)
	if err != nil {
		return nil, err
	}
	var numbers []byte
	for _, name := range names {
		if n, ok := folderNumber(name); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// open opens folder n without its lock. A missing one is unix.ENOENT.
func (t *tree) open(n byte) (folder, error) {
	path := t.folderPath(n)
	fd, err := openPath(path, unix.O_RDONLY|unix.O_DIRECTORY)
	return folder{fd, path, t.set}, err
}

func folderNumber(name string) (byte, bool) {
	if len(name) != 2 {
		return 0, false
	}
	high, low := strings.IndexByte(hexDigit, name[0]), strings.IndexByte(hexDigit, name[1])
	return byte(high<<4 | low), high >= 0 && low >= 0
}

// A folder is one of a tree's, held open: what is done through it stays in it,
// whatever happens to its path meanwhile.
type folder struct {
	fd   int
	path string
	set  *settings
}

func (f folder) close() { _ = unix.Close(f.fd) }

// each calls fn with batches of the folder's names, in no order, until there
// are no more or fn fails. A removed folder has no names.
func (f folder) each(batch int, fn func(names []string) error) error {
	fd, err := openAt(f.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), f.path)
	defer dir.Close()
	for {
		names, err := readNames(dir, batch)
		if err != nil || len(names) == 0 {
			return err
		}
		if err := fn(names); err != nil {
			return err
		}
	}
}

// readNames returns some names of a directory, -1 for all, and none at its end
// or if it was removed.
func readNames(dir *os.File, limit int) ([]string, error) {
	names, err := dir.Readdirnames(limit)
	if err == io.EOF || errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	return names, err
}

// head reads the entry under a name, but for its value.
func (f folder) head(name string) (item, error) {
	fd, err := openAt(f.fd, name, readFlags, 0)
	if err != nil {
		return item{}, asUnreadable(err)
	}
	defer unix.Close(fd)
	return readHead(fd)
}

// headOf reads the entry of key, which is under name, but for its value.
func (f folder) headOf(name, key string) (item, error) {
	it, err := f.head(name)
	if err == nil && it.key != key {
		return item{}, unreadable("it holds another key")
	}
	return it, err
}

// read reads the entry of key, which is under name.
func (f folder) read(name, key string) (item, error) {
	fd, err := openAt(f.fd, name, readFlags, 0)
	if err != nil {
		return item{}, asUnreadable(err)
	}
	defer unix.Close(fd)
	return readItem(fd, key)
}

// remove removes the file under a name. A directory there, which can't be ours,
// goes if it is empty. Nothing there is unix.ENOENT.
func (f folder) remove(name string) error {
	err := unix.Unlinkat(f.fd, name, 0)
	if err != unix.EISDIR && err != unix.EPERM { // of a directory, on Linux and on macOS
		return err
	}
	switch unix.Unlinkat(f.fd, name, unix.AT_REMOVEDIR) {
	case nil:
		return nil
	case unix.ENOTEMPTY, unix.EEXIST:
		return unix.EISDIR
	}
	return err
}

func (f folder) removeIfThere(name string) error {
	if err := f.remove(name); err != unix.ENOENT {
		return err
	}
	return nil
}
