package memcached

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// What the driver rests on, as the server really does it.

func TestFactTheServerExpiresUpToASecondEarly(t *testing.T) {
	t.Parallel()
	server := clientOf(t, startServer(t).Addr())
	server.MaxIdleConns = 10
	lived := make([]time.Duration, 10)
	var all sync.WaitGroup
	for i := range lived { // stored at ten moments of a second, for a second
		all.Go(func() {
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			lived[i] = life(t, server, fmt.Sprint("k", i))
		})
	}
	all.Wait()
	t.Logf("items with an expiry of 1 s lived %v", lived)
	if slices.Min(lived) >= time.Second {
		t.Errorf("no item was gone before its second was over: the margin of %d s is more than is needed", tickMargin)
	}
}

// life is how long at most an item lives that is stored for a second.
func life(t *testing.T, server *memcache.Client, key string) time.Duration {
	start := time.Now()
	err := server.Set(&memcache.Item{Key: key, Expiration: 1})
	for err == nil && time.Since(start) < patience {
		time.Sleep(2 * time.Millisecond)
		_, err = server.Get(key)
	}
	if err != memcache.ErrCacheMiss {
		t.Errorf("%s: %v", key, err)
	}
	return time.Since(start)
}

func TestFactAnExpiryAbove32BitsIsAlreadyOver(t *testing.T) {
	t.Parallel()
	conn := dialRaw(t, startServer(t).Addr())
	if got := conn.says(t, "set k 0 2147483648 1\r\nv\r\n"); got != "STORED" {
		t.Fatalf("set: %s", got)
	}
	if got := conn.says(t, "get k\r\n"); got != "END" {
		t.Errorf("an item that expires in 2038 and a second: %s, want that it is gone", got)
	}
	conn.says(t, "set k 0 2147483647 1\r\nv\r\n")
	if got := conn.says(t, "get k\r\n"); got != "VALUE k 0 1" {
		t.Errorf("an item that expires in 2038: %s", got)
	}
}

func TestFactAnExpiryAbove30DaysIsADate(t *testing.T) {
	t.Parallel()
	server := clientOf(t, startServer(t).Addr())
	for _, test := range []struct {
		expiration int32
		there      bool
	}{
		{relativeLimit, true},
		{relativeLimit + 1, false}, // in January 1970
		{int32(time.Now().Add(31 * day).Unix()), true},
		{gone, false},
	} {
		must(t, server.Set(&memcache.Item{Key: "k", Expiration: test.expiration}))
		if _, err := server.Get("k"); (err == nil) != test.there {
			t.Errorf("an item with expiry %d: %v", test.expiration, err)
		}
	}
}

func TestFactASwapRewritesTheExpiry(t *testing.T) {
	t.Parallel()
	server := clientOf(t, startServer(t).Addr())
	must(t, server.Set(&memcache.Item{Key: "k", Expiration: 2}))
	item, err := server.Get("k")
	must(t, err)
	item.Expiration = 0
	must(t, server.CompareAndSwap(item))
	time.Sleep(3 * time.Second)
	if item, err = server.Get("k"); err != nil {
		t.Fatalf("a swap has kept the expiry that was there: %v", err)
	}
	item.Expiration = gone
	must(t, server.CompareAndSwap(item))
	if _, err := server.Get("k"); err != memcache.ErrCacheMiss {
		t.Errorf("a swap for an expiry in the past leaves %v", err)
	}
	must(t, server.Add(&memcache.Item{Key: "k"})) // nothing is in the way
}

func TestFactIncrIsUnsignedAndCreatesNothing(t *testing.T) {
	t.Parallel()
	server := clientOf(t, startServer(t).Addr())
	if _, err := server.Increment("absent", 1); err != memcache.ErrCacheMiss {
		t.Errorf("of an absent counter: %v", err)
	}
	must(t, server.Set(&memcache.Item{Key: "k", Value: []byte("-1")}))
	if n, err := server.Increment("k", 1); err == nil {
		t.Errorf("-1 + 1 = %d", n)
	}
	must(t, server.Set(&memcache.Item{Key: "k", Value: []byte("1")}))
	if n, err := server.Decrement("k", 5); n != 0 || err != nil {
		t.Errorf("1 - 5 = %d, %v", n, err)
	}
	must(t, server.Set(&memcache.Item{Key: "k", Value: []byte("18446744073709551615")}))
	if n, err := server.Increment("k", 1); n != 0 || err != nil {
		t.Errorf("2^64-1 + 1 = %d, %v", n, err)
	}
}

func TestFactASwapThatLosesSaysSo(t *testing.T) {
	t.Parallel()
	server := clientOf(t, startServer(t).Addr())
	must(t, server.Set(&memcache.Item{Key: "k", Value: []byte("old")}))
	item, err := server.Get("k")
	must(t, err)
	must(t, server.Set(&memcache.Item{Key: "k", Value: []byte("new")}))
	if err := server.CompareAndSwap(item); err != memcache.ErrCASConflict {
		t.Errorf("over a new item: %v", err)
	}
	must(t, server.Delete("k"))
	if err := server.CompareAndSwap(item); err != memcache.ErrCacheMiss {
		t.Errorf("over none: %v", err)
	}
}

func TestFactAnItemWeighsMoreThanItsKeyAndValue(t *testing.T) {
	t.Parallel()
	conn := dialRaw(t, startServer(t, "-I", "2m").Addr())
	for _, key := range []string{"k", strings.Repeat("k", maxName)} {
		most := 2<<20 - itemOverhead - len(key)
		for size, want := range map[int]string{most: "STORED", most + 1: "SERVER_ERROR object too large for cache"} {
			got := conn.says(t, "set "+key+" 0 0 "+strconv.Itoa(size)+"\r\n"+strings.Repeat("v", size)+"\r\n")
			if got != want {
				t.Errorf("%d bytes under a key of %d: %s, want %s", size, len(key), got, want)
			}
		}
	}
}

func TestFactAFailedSetTakesTheOldItemWithIt(t *testing.T) {
	t.Parallel()
	conn := dialRaw(t, startServer(t).Addr())
	conn.says(t, "set k 0 0 3\r\nold\r\n")
	if got := conn.says(t, "set k 0 0 2000000\r\n"+strings.Repeat("v", 2000000)+"\r\n"); !strings.HasPrefix(got, "SERVER_ERROR") {
		t.Fatalf("a value beyond the limit: %s", got)
	}
	if got := conn.says(t, "get k\r\n"); got != "END" {
		t.Errorf("the old value is still there: %s", got)
	}
}

func TestFactAFlushSparesWhatIsStoredAfterIt(t *testing.T) {
	t.Parallel()
	server := clientOf(t, startServer(t).Addr())
	for i := range 20 { // within one second
		must(t, server.Set(&memcache.Item{Key: "before"}))
		must(t, server.FlushAll())
		must(t, server.Set(&memcache.Item{Key: "after"}))
		if _, err := server.Get("before"); err != memcache.ErrCacheMiss {
			t.Errorf("time %d: what was stored before is there: %v", i, err)
		}
		if _, err := server.Get("after"); err != nil {
			t.Errorf("time %d: what was stored after is not there: %v", i, err)
		}
	}
}
