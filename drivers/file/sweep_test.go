package file

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

func TestExpiredEntriesAndLeftoversGoWithoutBeingAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, sweepingEvery(time.Minute))
		for i := range 300 {
			set(t, s, fmt.Sprint("short:", i), "value", 30*time.Second)
		}
		set(t, s, "long", "value", time.Hour)
		set(t, s, "forever", "value", sdk.NoExpiry)
		n, _ := place("forever")
		must(t, os.WriteFile(s.entries.folderPath(n)+"/"+tempHead+"X", []byte("half"), 0o600))

		time.Sleep(29 * time.Second)
		holds(t, s, "short:1", "value")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if left := files(t, s); len(left) != 2 {
			t.Errorf("there is still %v", left)
		}
		holds(t, s, "long", "value")
		holds(t, s, "forever", "value")
		if stat := statOf(t, s, "sweep.removed"); stat.Value != "301" || stat.Warning != "" {
			t.Errorf("the sweeping reports %+v", stat)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if left := files(t, s); len(left) != 1 {
			t.Errorf("after an hour there is still %v", left)
		}
	})
}

func TestSweepingCanBeTurnedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t)
		set(t, s, "key", "value", time.Second)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		holds(t, s, "key", "")
		if left := files(t, s); len(left) != 1 {
			t.Errorf("somebody swept: %v", left)
		}
	})
}

func TestASweepThatFailsIsReportedAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, sweepingEvery(time.Minute))
		set(t, s, "a", "value", time.Second)
		set(t, s, "b", "value", time.Second)
		n, _ := place("a")
		folder := s.entries.folderPath(n)
		must(t, os.Rename(folder, s.set.root+"/away"))
		must(t, os.WriteFile(folder, nil, 0o600))
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		must(t, os.Remove(folder))
		must(t, os.Rename(s.set.root+"/away", folder))
		if left := files(t, s); len(left) != 1 || left[0] != fileOf(s, "a") {
			t.Errorf("there is %v, want only what could not be swept", left)
		}
		warns(t, s, "sweep.removed", "sweeping fails: "+folder)
		time.Sleep(time.Minute)
		synctest.Wait()
		if stat := statOf(t, s, "sweep.removed"); stat.Warning != "" || stat.Value != "2" {
			t.Errorf("once the fault is gone the sweeping reports %+v", stat)
		}
	})
}

func TestSeveralSweepersAndWritersTakeNothingFromEachOther(t *testing.T) {
	t.Parallel()
	s, other := openTest(t), (*store)(nil)
	other = openTest(t, at(s.set.root))
	stop := make(chan struct{})
	var sweepers, writers sync.WaitGroup
	for _, sweeping := range []*store{s, s, other, other} {
		sweepers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					w := &sweeper{entries: sweeping.entries}
					if err := w.round(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for i := range 8 {
		writers.Go(func() { expireAndReplace(t, s, fmt.Sprint("key:", i)) })
	}
	writers.Wait()
	close(stop)
	sweepers.Wait()
}

func TestASweepJudgesAgainUnderTheLock(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	set(t, s, "key", "fresh", time.Hour) // expired when the sweep saw it, say
	n, name := place("key")
	w := &sweeper{entries: s.entries}
	if removed, err := w.removeDead(t.Context(), n, []string{name, "vanished"}); removed != 0 || err != nil {
		t.Errorf("the sweep removed %d files: %v", removed, err)
	}
	holds(t, s, "key", "fresh")
}

// expireAndReplace stores over an entry that is just expiring, again and again.
func expireAndReplace(t *testing.T, s *store, key string) {
	for i := range 60 {
		want := fmt.Sprint(i)
		if err := s.Set(t.Context(), key, []byte("old"), time.Millisecond); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Duration(i) * 50 * time.Microsecond)
		if err := s.Set(t.Context(), key, []byte(want), sdk.NoExpiry); err != nil {
			t.Error(err)
		}
		if value, ok, err := s.Get(t.Context(), key); !ok || string(value) != want {
			t.Errorf("%s holds %q (there: %v), want %q: %v", key, value, ok, want, err)
		}
	}
}

// ageMark makes a folder look as if it had been swept long ago.
func ageMark(t *testing.T, folder string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(folder+"/"+lockName, old, old))
}

func TestAFolderThatOneProcessSweptOthersPassOver(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	setExpired(t, s, "key")
	n, _ := place("key")
	folder := s.entries.folderPath(n)
	other := &sweeper{entries: s.entries, interval: time.Minute}
	must(t, other.round(t.Context())) // a new folder counts as swept
	if len(files(t, s)) != 1 {
		t.Error("a folder was swept twice within an interval")
	}
	ageMark(t, folder)
	must(t, other.round(t.Context()))
	if len(files(t, s)) != 0 {
		t.Error("a folder that was swept long ago was passed over")
	}
	if f, err := s.entries.open(n); err != nil || !f.sweptWithin(time.Minute, time.Now()) {
		t.Errorf("the sweep left no mark: %v", err)
	} else {
		f.close()
	}
}

func TestAnUnchangedFolderIsLookedAtWhenItsFirstDeadlineComes(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	set(t, s, "key", "value", time.Hour)
	n, name := place("key")
	folder, then := s.entries.folderPath(n), time.Now().Add(-time.Minute)
	must(t, os.Chtimes(folder, then, then))
	w := &sweeper{entries: s.entries}
	must(t, w.round(t.Context()))
	if w.calm[n].first == 0 || !w.calm[n].until(time.Now(), w.calm[n].changed) {
		t.Fatalf("the folder is not known to be calm: %+v", w.calm[n])
	}
	if w.calm[n].until(time.Now().Add(2*time.Hour), w.calm[n].changed) {
		t.Error("the folder is thought calm beyond its first deadline")
	}

	expired := entryBytes("key", 1, []byte("value"))
	must(t, os.WriteFile(folder+"/"+name, expired, 0o600)) // behind the sweeper's back
	must(t, os.Chtimes(folder, then, then))
	must(t, w.round(t.Context()))
	if len(files(t, s)) != 1 {
		t.Error("a calm folder was looked at")
	}
	must(t, os.Chtimes(folder, time.Time{}, then.Add(time.Second)))
	must(t, w.round(t.Context()))
	if len(files(t, s)) != 0 {
		t.Error("a folder that changed was not looked at")
	}
}

func TestCloseEndsASweepInTheMiddle(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	for i := range 500 {
		set(t, s, fmt.Sprint("key:", i), "value", sdk.NoExpiry)
	}
	w := startSweeper(s.entries, time.Hour)
	done := make(chan struct{})
	go func() { w.stop(); close(done) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("the sweeper doesn't stop")
	}
}
