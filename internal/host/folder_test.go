//go:build unix

package host

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFolderIsPrivateLockedAndRemoved(t *testing.T) {
	base := shortTempDir(t)
	t.Setenv("XDG_RUNTIME_DIR", base)
	f, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(f.path) != base {
		t.Errorf("%s is not in XDG_RUNTIME_DIR", f.path)
	}
	info, err := os.Lstat(f.path)
	if err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	sweep(base)
	if _, err := os.Lstat(f.path); err != nil {
		t.Error("a sweep removed a folder in use:", err)
	}
	if err := f.remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(f.path); !os.IsNotExist(err) {
		t.Error("the folder is still there:", err)
	}
	if err := f.remove(); err != nil {
		t.Error("the second time:", err)
	}
}

func TestFoldersOfDeadHostsAreSweptAndNothingElse(t *testing.T) {
	base := shortTempDir(t)
	t.Setenv("XDG_RUNTIME_DIR", base)
	outside := t.TempDir()
	dead := filepath.Join(base, folderPrefix+"dead")
	must(t, os.Mkdir(dead, 0o700))
	socket, err := net.Listen("unix", filepath.Join(dead, "plugin1"))
	must(t, err)
	socket.(*net.UnixListener).SetUnlinkOnClose(false)
	must(t, socket.Close())
	must(t, os.WriteFile(filepath.Join(dead, programName), nil, 0o700))
	must(t, os.Mkdir(filepath.Join(dead, "plugin-dir123"), 0o700))
	somebodys := filepath.Join(base, folderPrefix+"data")
	must(t, os.Mkdir(somebodys, 0o700))
	must(t, os.WriteFile(filepath.Join(somebodys, "precious"), nil, 0o600))
	kept := []string{
		filepath.Join(somebodys, "precious"),
		filepath.Join(base, "other"),
		filepath.Join(base, folderPrefix+"file"),
		filepath.Join(base, folderPrefix+"link"),
	}
	must(t, os.Mkdir(kept[1], 0o700))
	must(t, os.WriteFile(kept[2], nil, 0o600))
	must(t, os.Symlink(outside, kept[3]))

	f, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer f.remove()
	if _, err := os.Lstat(dead); !os.IsNotExist(err) {
		t.Error("the dead host's folder is still there:", err)
	}
	for _, path := range append(kept, outside) {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestALongTemporaryFolderIsPassedOver(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 80))
	must(t, os.Mkdir(long, 0o700))
	_, err := newFolderIn(long)
	if err == nil || !strings.Contains(err.Error(), "limit is 100") {
		t.Errorf("got %v, want an error that names the limit", err)
	}
	t.Setenv("XDG_RUNTIME_DIR", long)
	t.Setenv("TMPDIR", "/nonexistent")
	f, err := newFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer f.remove()
	if len(f.path)+1+len(longestSocket) >= socketPathLimit {
		t.Errorf("%s is too long", f.path)
	}
}

// shortTempDir is a folder whose path leaves room for a socket.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cwt")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
