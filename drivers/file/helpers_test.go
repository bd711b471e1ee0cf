package file

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// A setting changes an option of a store under test.
type setting func(*options)

func at(path string) setting                { return func(o *options) { o.Path = path } }
func synced(o *options)                     { o.Sync = "data" }
func modes(dir, file string) setting        { return func(o *options) { o.DirMode, o.FileMode = dir, file } }
func sweepingEvery(d time.Duration) setting { return func(o *options) { o.SweepInterval = d } }

// openTest opens a store in a directory of the test's own that doesn't sweep,
// unless the settings say otherwise.
func openTest(t testing.TB, settings ...setting) *store {
	t.Helper()
	o := options{Path: t.TempDir(), Sync: "none", DirMode: "0700", FileMode: "0600"}
	for _, set := range settings {
		set(&o)
	}
	s, err := open(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func set(t testing.TB, s *store, key, value string, ttl time.Duration) {
	t.Helper()
	must(t, s.Set(t.Context(), key, []byte(value), ttl))
}

// setExpired stores an entry whose time came long ago.
func setExpired(t testing.TB, s *store, key string) {
	t.Helper()
	set(t, s, key, "expired", sdk.NoExpiry)
	must(t, os.WriteFile(fileOf(s, key), entryBytes(key, 1, []byte("expired")), 0o600))
}

// holds checks that the key has the value; "" stands for none.
func holds(t testing.TB, s *store, key, want string) {
	t.Helper()
	value, ok, err := s.Get(t.Context(), key)
	must(t, err)
	if string(value) != want || ok != (want != "") {
		t.Errorf("%q holds %.40q (there: %v), want %.40q", key, value, ok, want)
	}
}

// fails checks that err matches target and says all of the words.
func fails(t testing.TB, err, target error, words ...string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("the error %v does not match %q", err, target)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error %q does not say %q", err, word)
		}
	}
}

func fileOf(s *store, key string) string { return s.entries.filePath(place(key)) }

// files lists what lies in the store's folders, locks aside.
func files(t testing.TB, s *store) []string {
	t.Helper()
	all, err := filepath.Glob(s.set.root + "/entries/*/*")
	must(t, err)
	return slices.DeleteFunc(all, func(path string) bool { return filepath.Base(path) == lockName })
}

func permissions(t testing.TB, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	return info.Mode().Perm()
}

// sweepNow makes a round of a sweeper of its own over all folders, however
// short ago they were swept.
func sweepNow(t testing.TB, s *store) {
	t.Helper()
	w := &sweeper{entries: s.entries}
	must(t, w.round(t.Context()))
}

var _ interface {
	sdk.Store
	sdk.Adder
	sdk.Replacer
	sdk.Puller
	sdk.Counter
	sdk.CompareDeleter
	sdk.Clearer
	sdk.Inspector
	sdk.Lister
	sdk.Pinger
	sdk.StatsReporter
	sdk.TraitReporter
} = (*store)(nil)

// warns checks that the stat of that name has a warning with the words.
func warns(t testing.TB, s *store, name, words string) {
	t.Helper()
	if stat := statOf(t, s, name); !strings.Contains(stat.Warning, words) {
		t.Errorf("%s warns %q, want %q", name, stat.Warning, words)
	}
}

func statOf(t testing.TB, s *store, name string) sdk.Stat {
	t.Helper()
	stats, err := s.Stats(t.Context())
	must(t, err)
	for _, stat := range stats {
		if stat.Name == name {
			return stat
		}
	}
	t.Errorf("there is no stat %s in %v", name, stats)
	return sdk.Stat{}
}
