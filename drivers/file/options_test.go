package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/sdk"
)

func TestOptionsThatCantBeAreRefusedTogether(t *testing.T) {
	t.Parallel()
	_, err := Driver.Open(t.Context(), map[string]any{
		"path": t.TempDir(), "dir_mode": "rwx", "file_mode": "0400", "sweep_interval": "-1s",
	})
	fails(t, err, sdk.ErrInvalidOptions, "dir_mode: wants octal", "file_mode: must leave the owner 0600", "sweep_interval: must not be negative")
	for key, value := range map[string]string{"file_mode": "0755", "dir_mode": "0500", "sync": "full", "path": ""} {
		options := map[string]any{"path": t.TempDir()}
		options[key] = value
		_, err := Driver.Open(t.Context(), options)
		fails(t, err, sdk.ErrInvalidOptions, key+": ")
	}
	_, err = Driver.Open(t.Context(), nil)
	fails(t, err, sdk.ErrInvalidOptions, "path: is required")
}

// openSpace is the Space of a store that is opened on path.
func openSpace(t *testing.T, path string) string { return openTest(t, at(path)).Traits().Space }

// S27: the directory counts once it is resolved.
func TestPathsToOneDirectoryAreOneSpace(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.MkdirAll(top+"/real/cache", 0o700))
	for link, target := range map[string]string{
		"link": "real", "absolute": top + "/real/cache", "twice": "link", "up": "real/../real", "dangling": "absent/later",
		"a": "b", "b": "a",
	} {
		must(t, os.Symlink(target, top+"/"+link))
	}
	working, err := os.Getwd()
	must(t, err)
	relative, err := filepath.Rel(working, top+"/real/cache")
	must(t, err)
	for path, want := range map[string]string{
		"/real/cache":          "/real/cache",
		"/link/cache":          "/real/cache",
		"/absolute":            "/real/cache",
		"/absolute/":           "/real/cache",
		"/twice/./cache":       "/real/cache",
		"/up/cache":            "/real/cache",
		"/link/new/deep":       "/real/new/deep", // before it exists
		"/dangling/cache":      "/absent/later/cache",
		"/not/there/at/all":    "/not/there/at/all",
		"/real/../link/cache/": "/real/cache",
	} {
		if got := openSpace(t, top+path); got != top+want {
			t.Errorf("%s is the space %s, want %s", path, got, top+want)
		}
	}
	if got := openSpace(t, relative); got != top+"/real/cache" {
		t.Errorf("the relative %s is the space %s", relative, got)
	}
	if got := openSpace(t, top+"/a/cache"); !strings.HasPrefix(got, top) {
		t.Errorf("links in a circle lead to %s", got)
	}
	if one, other := openSpace(t, top+"/real"), openSpace(t, top+"/real/cache"); one == other {
		t.Errorf("two directories are one space, %s", one)
	}
}

func TestStoresOnOneDirectoryByTwoPathsShareEntries(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	must(t, os.Symlink("real", top+"/link"))
	one, other := openTest(t, at(top+"/link")), openTest(t, at(top+"/real"))
	set(t, one, "key", "value", sdk.NoExpiry)
	holds(t, other, "key", "value")
}

func TestOpeningTouchesNothing(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	s := openTest(t, at(top+"/cache"))
	_ = s.Traits()
	holds(t, s, "key", "")
	_, err := s.Delete(t.Context(), "key")
	must(t, err)
	if left, err := os.ReadDir(top); err != nil || len(left) != 0 {
		t.Errorf("there is %v: %v", left, err)
	}
}
