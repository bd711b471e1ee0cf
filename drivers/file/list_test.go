package file

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// allKeys walks through the keys in pages of about limit.
func allKeys(t testing.TB, s *store, prefix string, limit int) (keys []string, pages int) {
	t.Helper()
	for cursor := []byte(nil); pages == 0 || len(cursor) > 0; pages++ {
		page, next, err := s.Keys(t.Context(), prefix, cursor, limit)
		must(t, err)
		keys, cursor = append(keys, page...), next
	}
	slices.Sort(keys)
	return keys, pages
}

func TestKeysArePagedAndComplete(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprint("app:", i), fmt.Sprintf("app:%s%d", strings.Repeat("long/", 100), i))
		set(t, s, fmt.Sprint("application:", i), "value", sdk.NoExpiry)
	}
	for _, key := range want {
		set(t, s, key, "value", time.Hour)
	}
	slices.Sort(want)
	for _, limit := range []int{0, 1, 7, 10_000} {
		keys, pages := allKeys(t, s, "app:", limit)
		if !slices.Equal(keys, want) {
			t.Errorf("pages of %d list %d keys, want %d", limit, len(keys), len(want))
		}
		if limit == 7 && pages < len(want)/7 {
			t.Errorf("%d keys came in %d pages of about 7", len(keys), pages)
		}
	}
	if keys, _ := allKeys(t, s, "", 100); len(keys) != 900 {
		t.Errorf("all in all there are %d keys, want 900", len(keys))
	}
	long := "app:" + strings.Repeat("long/", 100) + "29"
	if keys, _ := allKeys(t, s, long, 100); len(keys) != 11 {
		t.Errorf("%d keys start with a prefix longer than names hold, want 11", len(keys))
	}
}

func TestKeysListsNoExpiredAndNoUnreadableEntries(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	set(t, s, "good", "value", sdk.NoExpiry)
	setExpired(t, s, "short")
	set(t, s, "bad", "value", sdk.NoExpiry)
	must(t, os.WriteFile(fileOf(s, "bad"), []byte("garbage"), 0o600))
	if keys, _ := allKeys(t, s, "", 0); !slices.Equal(keys, []string{"good"}) {
		t.Errorf("the keys are %v", keys)
	}
}

func TestKeysMissesNoneThatIsOverwrittenMeanwhile(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprint("key:", i))
		set(t, s, want[i], "value", sdk.NoExpiry)
	}
	slices.Sort(want)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := w; ; i += 4 {
				select {
				case <-stop:
					return
				default:
				}
				if err := s.Set(t.Context(), want[i%len(want)], []byte("new"), sdk.NoExpiry); err != nil {
					t.Error(err)
				}
				_, _ = s.Add(t.Context(), fmt.Sprint("passing:", i), nil, 0)
				_, _ = s.Delete(t.Context(), fmt.Sprint("passing:", i-8))
			}
		})
	}
	for range 10 {
		keys, _ := allKeys(t, s, "key:", 13)
		if keys = slices.Compact(keys); !slices.Equal(keys, want) {
			t.Errorf("%d of %d keys were listed", len(keys), len(want))
		}
	}
	close(stop)
	writers.Wait()
}

// clearAll clears and returns how much was removed.
func clearAll(t *testing.T, s *store, prefix string) (removed int) {
	t.Helper()
	for cursor, first := []byte(nil), true; first || len(cursor) > 0; first = false {
		next, some, err := s.Clear(t.Context(), prefix, cursor)
		must(t, err)
		cursor, removed = next, removed+some
	}
	return removed
}

func TestClearRemovesWhatStartsWithThePrefixAndNothingElse(t *testing.T) {
	t.Parallel()
	for prefix, goes := range map[string][]string{
		"":                                {"app:1", "app:" + strings.Repeat("l", 500), "application", "App:1", "ap", "app.", "a"},
		"app:":                            {"app:1", "app:" + strings.Repeat("l", 500)},
		"app":                             {"app:1", "app:" + strings.Repeat("l", 500), "application", "app."},
		"app.":                            {"app."},
		"A":                               {"App:1"},
		"app:" + strings.Repeat("l", 400): {"app:" + strings.Repeat("l", 500)},
		"x":                               nil,
	} {
		s := openTest(t)
		all := []string{"app:1", "app:" + strings.Repeat("l", 500), "application", "App:1", "ap", "app.", "a"}
		for _, key := range all {
			set(t, s, key, "value", sdk.NoExpiry)
		}
		if removed := clearAll(t, s, prefix); removed != len(goes) {
			t.Errorf("clearing %.20q removed %d, want %d", prefix, removed, len(goes))
		}
		for _, key := range all {
			if _, ok, err := s.Get(t.Context(), key); err != nil || ok == slices.Contains(goes, key) {
				t.Errorf("after clearing %.20q, is %.20q there: %v, %v", prefix, key, ok, err)
			}
		}
	}
}

func TestClearTakesLeftoversAndForeignFilesOfItsFolders(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	n, _ := place("key")
	folder := s.entries.folderPath(n)
	must(t, os.WriteFile(folder+"/"+tempHead+"X", nil, 0o600))
	must(t, os.WriteFile(folder+"/README.TXT", nil, 0o600))
	clearAll(t, s, "")
	if left := files(t, s); len(left) != 0 {
		t.Errorf("there is %v", left)
	}
	if _, err := os.Stat(folder + "/" + lockName); err != nil {
		t.Errorf("the lock went too: %v", err)
	}
}

func TestCursorsOfAnotherMakeEndOrFailButNeverHang(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	set(t, s, "key", "value", sdk.NoExpiry)
	for _, cursor := range []string{"\x00", "\xff", "\xffzzz", "\x00\x00\x00", strings.Repeat("\xff", 5000)} {
		_, next, err := s.Keys(t.Context(), "", []byte(cursor), 10)
		if err != nil || len(next) > 0 {
			t.Errorf("from %.10q the keys go on at %q: %v", cursor, next, err)
		}
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	s := openTest(t, at(t.TempDir()+"/cache"))
	if stat := statOf(t, s, "directory.mode"); !strings.Contains(stat.Value, "not there yet") {
		t.Errorf("a store without directory says %+v", stat)
	}
	for i := range 20 {
		set(t, s, fmt.Sprint("key:", i), "value", sdk.NoExpiry)
	}
	setExpired(t, s, "short")
	must(t, os.WriteFile(fileOf(s, "key:1"), []byte("garbage"), 0o600))
	n, _ := place("short")
	must(t, os.WriteFile(s.entries.folderPath(n)+"/"+tempHead+"X", nil, 0o600))
	for name, want := range map[string]string{
		"directory": s.set.root, "directory.mode": "0700",
		"entries": "19", "entries.expired": "1", "entries.unreadable": "1", "leftovers": "1", "sweep.removed": "off",
	} {
		if got := statOf(t, s, name).Value; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	warns(t, s, "entries.unreadable", "until they are set or deleted")
	if stat := statOf(t, s, "directory.mode"); stat.Warning != "" {
		t.Errorf("a private directory warns %q", stat.Warning)
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(s.set.root, 65534, -1))
		warns(t, s, "directory.mode", "belongs to uid 65534")
	}
	must(t, os.Chmod(s.set.root, 0o777))
	warns(t, s, "directory.mode", "everybody on this machine may replace entries")
}

func TestStatsEstimateFromSomeFolders(t *testing.T) {
	t.Parallel()
	c := census{entries: 100}
	if got := c.stats(50, 200)[0].Value; got != "about 400 (50 of 200 folders counted)" {
		t.Errorf("100 entries in 50 of 200 folders are %q", got)
	}
}
