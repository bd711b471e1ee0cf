package file

import (
	"os"
	"testing"

	"github.com/cachewright/cachewright/sdk"
	"golang.org/x/sys/unix"
)

func TestPermissionsAreTheOptionsWhateverTheUmask(t *testing.T) { // not parallel: the umask is the process's
	for _, umask := range []int{0, 0o022, 0o077} {
		old := unix.Umask(umask)
		private, shared := openTest(t, at(t.TempDir()+"/cache")), openTest(t, at(t.TempDir()+"/cache"), modes("0770", "0660"))
		set(t, private, "key", "value", sdk.NoExpiry)
		set(t, shared, "key", "value", sdk.NoExpiry)
		grouped := openTest(t, at(t.TempDir()+"/cache"), modes("2770", "0660"))
		set(t, grouped, "key", "value", sdk.NoExpiry)
		unix.Umask(old)
		if info, err := os.Stat(grouped.entries.path); err != nil || info.Mode() != os.ModeDir|os.ModeSetgid|0o770 {
			t.Errorf("umask %04o: a directory for a group has %v: %v", umask, info.Mode(), err)
		}
		for s, want := range map[*store][2]os.FileMode{private: {0o700, 0o600}, shared: {0o770, 0o660}} {
			n, _ := place("key")
			folder := s.entries.folderPath(n)
			for _, dir := range []string{s.set.root, s.entries.path, folder} {
				if got := permissions(t, dir); got != want[0] {
					t.Errorf("umask %04o: %s has %04o, want %04o", umask, dir, got, want[0])
				}
			}
			for _, file := range []string{fileOf(s, "key"), folder + "/" + lockName} {
				if got := permissions(t, file); got != want[1] {
					t.Errorf("umask %04o: %s has %04o, want %04o", umask, file, got, want[1])
				}
			}
		}
	}
}

func TestADirectoryThatExistsKeepsItsPermissionsAndContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/mine"
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(dir+"/letter", []byte("mine"), 0o644))
	s := openTest(t, at(dir))
	set(t, s, "key", "value", sdk.NoExpiry)
	_, _, err := s.Clear(t.Context(), "", nil)
	must(t, err)
	sweepNow(t, s)
	if letter, err := os.ReadFile(dir + "/letter"); string(letter) != "mine" || permissions(t, dir) != 0o755 {
		t.Errorf("the letter reads %q, the directory has %04o: %v", letter, permissions(t, dir), err)
	}
}

// broken makes a store with an entry and then does something to its directory.
func broken(t *testing.T, harm func(root string) error) *store {
	t.Helper()
	s := openTest(t, at(t.TempDir()+"/cache"))
	set(t, s, "key", "value", sdk.NoExpiry)
	must(t, harm(s.set.root))
	return s
}

func TestADirectoryThatVanishedIsCreatedByTheNextWrite(t *testing.T) {
	t.Parallel()
	writes := map[string]func(s *store) error{
		"set":       func(s *store) error { return s.Set(t.Context(), "key", []byte("1"), 0) },
		"add":       func(s *store) error { return gone(s.Add(t.Context(), "key", []byte("1"), 0)) },
		"increment": func(s *store) error { _, err := s.Increment(t.Context(), "key", 1, 0); return err },
	}
	for name, write := range writes {
		for what, harm := range map[string]func(root string) error{
			"removed":         os.RemoveAll,
			"moved":           func(root string) error { return os.Rename(root, root+".old") },
			"folders removed": func(root string) error { return os.RemoveAll(root + "/entries") },
		} {
			t.Run(what+"/"+name, func(t *testing.T) {
				s := broken(t, harm)
				holds(t, s, "key", "")
				must(t, s.Ping(t.Context()))
				if existed, err := s.Delete(t.Context(), "key"); existed || err != nil {
					t.Errorf("deleted from nowhere: %v, %v", existed, err)
				}
				must(t, write(s))
				holds(t, s, "key", "1")
			})
		}
	}
}

func TestADirectoryThatIsReplacedIsAClearError(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]struct {
		do   func(root string) error
		says string
	}{
		"by a file": {func(root string) error {
			must(t, os.RemoveAll(root))
			return os.WriteFile(root, nil, 0o600)
		}, "is a file where a directory must be"},
		"by a link": {func(root string) error {
			must(t, os.Rename(root, root+".moved"))
			return os.Symlink(root+".moved", root)
		}, "has become a symbolic link"},
		"inside by a file": {func(root string) error {
			must(t, os.RemoveAll(root+"/entries"))
			return os.WriteFile(root+"/entries", nil, 0o600)
		}, "/entries is a file where a directory must be"},
		"inside by a link": {func(root string) error {
			must(t, os.Rename(root+"/entries", root+"/moved"))
			return os.Symlink("moved", root+"/entries")
		}, "/entries has become a symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, s := t.Context(), broken(t, harm.do)
			_, _, err := s.Get(ctx, "key")
			fails(t, err, sdk.ErrUnavailable, harm.says, s.set.root)
			fails(t, s.Set(ctx, "key", nil, 0), sdk.ErrUnavailable, harm.says, s.set.root)
			_, err = s.Delete(ctx, "key")
			fails(t, err, sdk.ErrUnavailable, harm.says)
			_, err = s.Increment(ctx, "key", 1, 0)
			fails(t, err, sdk.ErrUnavailable, harm.says)
			_, _, err = s.TTL(ctx, "key")
			fails(t, err, sdk.ErrUnavailable, harm.says)
			_, _, err = s.Keys(ctx, "", nil, 0)
			fails(t, err, sdk.ErrUnavailable, harm.says)
			_, _, err = s.Clear(ctx, "", nil)
			fails(t, err, sdk.ErrUnavailable, harm.says)
			_, err = s.Stats(ctx)
			fails(t, err, sdk.ErrUnavailable, harm.says)
		})
	}
}

func TestNoLinkInsideTheStoreLeadsOut(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	s := openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	n, name := place("key")
	folder := s.entries.folderPath(n)
	must(t, os.Rename(folder, outside+"/folder"))
	must(t, os.Symlink(outside+"/folder", folder))
	before, err := os.ReadFile(outside + "/folder/" + name)
	must(t, err)

	_, _, err = s.Get(t.Context(), "key")
	fails(t, err, sdk.ErrUnavailable, folder, "symbolic link")
	fails(t, s.Set(t.Context(), "key", []byte("new"), 0), sdk.ErrUnavailable, folder, "symbolic link")
	_, err = s.Delete(t.Context(), "key")
	fails(t, err, sdk.ErrUnavailable, folder, "symbolic link")
	_, _, err = s.Clear(t.Context(), "", nil)
	fails(t, err, sdk.ErrUnavailable, folder, "symbolic link")
	if after, err := os.ReadFile(outside + "/folder/" + name); string(after) != string(before) {
		t.Errorf("a file outside changed: %v", err)
	}
}

func TestASetReplacesALinkAndNotItsTarget(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	target := t.TempDir() + "/target"
	must(t, os.WriteFile(target, []byte("theirs"), 0o600))
	must(t, os.Remove(fileOf(s, "key")))
	must(t, os.Symlink(target, fileOf(s, "key")))
	set(t, s, "key", "new", sdk.NoExpiry)
	holds(t, s, "key", "new")
	if content, err := os.ReadFile(target); string(content) != "theirs" {
		t.Errorf("the link's target holds %q: %v", content, err)
	}
}

func TestTheFirstCallNamesADirectoryThatCantBe(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/file"
	must(t, os.WriteFile(file, nil, 0o600))
	for _, path := range []string{file, file + "/below"} {
		s := openTest(t, at(path))
		_, _, err := s.Get(t.Context(), "key")
		fails(t, err, sdk.ErrUnavailable, file+" is a file where a directory must be", "change the option path")
		fails(t, s.Set(t.Context(), "key", nil, 0), sdk.ErrUnavailable, file+" is a file where a directory must be")
		fails(t, s.Ping(t.Context()), sdk.ErrUnavailable, file+" is a file where a directory must be")
	}
}
