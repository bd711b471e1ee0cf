package file

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

func TestEntriesExpireByWallClock(t *testing.T) {
	for _, ttl := range []time.Duration{time.Millisecond, time.Second, 31 * 24 * time.Hour, 100 * 365 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(123456 * time.Nanosecond) // between two steps of the clock
			s := openTest(t)
			set(t, s, "key", "value", ttl)
			if left, ok, err := s.TTL(t.Context(), "key"); left != ttl || !ok || err != nil {
				t.Errorf("of %v there is %v left (there: %v): %v", ttl, left, ok, err)
			}
			time.Sleep(ttl - 1)
			holds(t, s, "key", "value")
			time.Sleep(time.Millisecond + 1)
			holds(t, s, "key", "")
			holds(t, openTest(t, at(s.set.root)), "key", "") // after a restart too
		})
	}
}

func TestADeadlineIsNeverEarlyAndAtMostAMillisecondLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, offset := range []time.Duration{0, 1, 500_000, 999_999} {
			for _, ttl := range []time.Duration{1, time.Millisecond, time.Millisecond + 1, 1<<63 - 1} {
				time.Sleep(offset)
				late := time.UnixMilli(deadlineAfter(ttl)).Sub(time.Now().Add(ttl))
				if ttl == 1<<63-1 { // Add overflows
					late = time.Until(time.UnixMilli(deadlineAfter(ttl)).Add(-ttl))
				}
				if late < 0 || late >= time.Millisecond {
					t.Errorf("at %v, a TTL of %v ends %v late", offset, ttl, late)
				}
			}
		}
	})
}

func TestASetIsNotLostToAnIncrementOrAnAdd(t *testing.T) {
	t.Parallel()
	s, other := openTest(t), (*store)(nil)
	other = openTest(t, at(s.set.root))
	for range 200 {
		set(t, s, "key", "0", sdk.NoExpiry)
		var sum int64
		var both sync.WaitGroup
		both.Go(func() { must(t, s.Set(t.Context(), "key", []byte("100"), sdk.NoExpiry)) })
		both.Go(func() { sum, _ = other.Increment(t.Context(), "key", 1, sdk.NoExpiry) })
		both.Wait()
		want := map[int64]string{1: "100", 101: "101"}[sum]
		if want == "" {
			t.Fatalf("the sum is %d", sum)
		}
		holds(t, s, "key", want)
	}
}

func TestAColdDirectoryTakesManyWritersAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 10 {
		dir := fmt.Sprintf("%s/%d/not/there", t.TempDir(), round)
		var all sync.WaitGroup
		for i := range 64 {
			s, key := openTest(t, at(dir)), fmt.Sprint("key:", i%8)
			all.Go(func() {
				if err := s.Set(t.Context(), key, []byte("value"), sdk.NoExpiry); err != nil {
					t.Error(err)
				}
				if _, err := s.Increment(t.Context(), "hits", 1, sdk.NoExpiry); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		s := openTest(t, at(dir))
		holds(t, s, "hits", "64")
		holds(t, s, "key:7", "value")
	}
}

func TestADirectoryThatIsRemovedDuringACallFailsNoCall(t *testing.T) {
	t.Parallel()
	s := openTest(t, at(t.TempDir()+"/cache"))
	calls := map[string]func(key string) error{
		"set":   func(key string) error { return s.Set(t.Context(), key, []byte("value"), sdk.NoExpiry) },
		"get":   func(key string) error { _, _, err := s.Get(t.Context(), key); return err },
		"pull":  func(key string) error { _, _, err := s.Pull(t.Context(), key); return err },
		"keys":  func(string) error { _, _, err := s.Keys(t.Context(), "", nil, 10); return err },
		"clear": func(string) error { _, _, err := s.Clear(t.Context(), "", nil); return err },
		"sweep": func(string) error { return (&sweeper{entries: s.entries}).round(t.Context()) },
		"stats": func(string) error { _, err := s.Stats(t.Context()); return err },
	}
	for i := range 100 {
		var all sync.WaitGroup
		all.Go(func() { _ = os.RemoveAll(s.set.root) })
		for name, call := range calls {
			all.Go(func() {
				if err := call(fmt.Sprint("key:", i)); err != nil {
					t.Errorf("%s %d: %v", name, i, err)
				}
			})
		}
		all.Wait()
	}
}

func TestACancelledWriteOfALargeValueLeavesTheOldOne(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	set(t, s, "key", "old", sdk.NoExpiry)
	ctx := &dyingContext{Context: t.Context(), looks: 3}
	fails(t, s.Set(ctx, "key", make([]byte, 8<<20), sdk.NoExpiry), context.Canceled)
	holds(t, s, "key", "old")
	if left := files(t, s); len(left) != 1 {
		t.Errorf("there is %v", left)
	}
}

// A dyingContext is cancelled after some looks at it.
type dyingContext struct {
	context.Context
	looks int
}

func (c *dyingContext) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

func TestValuesOfEverySizeComeBack(t *testing.T) {
	t.Parallel()
	for _, sync := range []setting{func(*options) {}, synced} {
		s := openTest(t, sync)
		edges := []int{0, 1, firstRead - aroundKey - 3, joined - aroundKey - 3, chunk, 5 << 20, 20 << 20}
		for _, edge := range edges {
			for _, size := range []int{max(0, edge-1), edge, edge + 1} {
				value := bytes.Repeat([]byte("v"), size)
				must(t, s.Set(t.Context(), "key", value, sdk.NoExpiry))
				got, ok, err := s.Get(t.Context(), "key")
				if err != nil || !ok || got == nil || !bytes.Equal(got, value) {
					t.Errorf("%d bytes came back as %d (there: %v): %v", size, len(got), ok, err)
				}
			}
		}
	}
}

func TestKeysThatShareAFolderDontDisturbEachOther(t *testing.T) {
	t.Parallel()
	s := openTest(t)
	n, _ := place("key")
	var mates []string
	for i := 0; len(mates) < 20; i++ {
		if key := fmt.Sprint(strings.Repeat("long/", i%2*60), "mate:", i); folderOf(key) == n {
			mates = append(mates, key)
			set(t, s, key, key, sdk.NoExpiry)
		}
	}
	for _, key := range mates {
		holds(t, s, key, key)
	}
	if existed, err := s.Delete(t.Context(), mates[0]); !existed || err != nil {
		t.Errorf("delete: %v, %v", existed, err)
	}
	holds(t, s, mates[0], "")
	holds(t, s, mates[1], mates[1])
}

func folderOf(key string) byte {
	n, _ := place(key)
	return n
}
