package memcached

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

func TestAnItemIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"k", "app:user/42", strings.Repeat("ключ", 250), "\xff"} {
		for _, value := range []string{"", "v", "\x00\r\nEND\r\n", strings.Repeat("long", 10_000)} {
			for _, deadline := range []int64{0, 1, math.MaxInt64} {
				item := newItem(plain, key, deadline, []byte(value))
				got, body, err := parseItem(item, plain, key)
				if got != deadline || string(body) != value || err != nil {
					t.Errorf("%.20q with deadline %d: %d, %.20q, %v", key, deadline, got, body, err)
				}
			}
		}
	}
}

func TestEveryDamageIsTold(t *testing.T) {
	t.Parallel()
	item := newItem(plain, "key", time.Now().UnixMilli(), []byte("value"))
	for i := range item {
		for bit := range 8 {
			damaged := bytes.Clone(item)
			damaged[i] ^= 1 << bit
			_, _, err := parseItem(damaged, plain, "key")
			fails(t, err, sdk.ErrCorrupt)
		}
	}
	for size := range item {
		_, _, err := parseItem(item[:size], plain, "key")
		fails(t, err, sdk.ErrCorrupt)
	}
	_, _, err := parseItem(append(bytes.Clone(item), 0), plain, "key")
	fails(t, err, sdk.ErrCorrupt, "damaged")
}

func TestAnItemOfAnotherKeyOrKindIsTold(t *testing.T) {
	t.Parallel()
	_, _, err := parseItem(newItem(plain, "one", 0, nil), plain, "other")
	fails(t, err, sdk.ErrCorrupt, "another key")
	_, _, err = parseItem(newItem(isLease, "key", 0, nil), plain, "key")
	fails(t, err, sdk.ErrCorrupt, "flags 1")
	_, _, err = parseItem([]byte("O:8:\"stdClass\""), plain, "key")
	fails(t, err, sdk.ErrCorrupt, "no item of a cachewright store")
}

func FuzzParseItem(f *testing.F) {
	f.Add(newItem(plain, "key", 0, []byte("value")), "key")
	f.Add(newItem(plain, "key", 1, nil)[:20], "key")
	f.Add([]byte(magic), "")
	f.Fuzz(func(t *testing.T, item []byte, key string) {
		deadline, value, err := parseItem(item, plain, key)
		if err == nil && !bytes.Equal(newItem(plain, key, deadline, value), item) {
			t.Errorf("%q is read as %d, %q", item, deadline, value)
		}
	})
}

func TestADeadlineIsRoundedUpToAMillisecond(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		now  time.Time
		ttl  time.Duration
		want int64
	}{
		{time.UnixMilli(1000), sdk.NoExpiry, 0},
		{time.UnixMilli(1000), time.Millisecond, 1001},
		{time.UnixMilli(1000), time.Nanosecond, 1001},
		{time.UnixMilli(1000).Add(1), time.Millisecond, 1002},
		{time.UnixMilli(1000).Add(999_999), time.Nanosecond, 1001},
		{time.UnixMilli(1000).Add(999_999), 2 * time.Nanosecond, 1002},
		{time.UnixMilli(2e12), math.MaxInt64, 2_000_000_000_000 + math.MaxInt64/1_000_000 + 1},
	} {
		if got := deadlineAfter(test.now, test.ttl); got != test.want {
			t.Errorf("%v after %d ns: %d, want %d", test.ttl, test.now.UnixNano(), got, test.want)
		}
	}
}

func TestWhatIsLeftIsNeverMoreThanWasGivenAndNeverNone(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000).Add(123_456)
	for _, ttl := range []time.Duration{time.Millisecond, time.Second, 30 * 24 * time.Hour, math.MaxInt64 - math.MaxInt64%time.Millisecond} {
		deadline := deadlineAfter(now, ttl)
		if left := remaining(deadline, now); left > ttl || left < ttl-time.Millisecond {
			t.Errorf("of %v %v are left at once", ttl, left)
		}
	}
	deadline := deadlineAfter(now, time.Second)
	for later := time.Duration(0); lives(deadline, now.Add(later)); later += 100 * time.Microsecond {
		if left := remaining(deadline, now.Add(later)); left <= 0 || left > time.Second {
			t.Errorf("%v later %v are left", later, left)
		}
	}
	if remaining(0, now) != sdk.NoExpiry || !lives(0, now) {
		t.Error("what has no deadline ends")
	}
	if lives(deadline, now.Add(time.Second+time.Millisecond)) || !lives(deadline, now.Add(time.Second)) {
		t.Error("an entry ends at another moment than its deadline")
	}
}
