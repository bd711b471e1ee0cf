package memcached

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// Whoever calls at the same time gets their own values, whole: nothing that is
// sent or received together is mixed up.
func TestValuesAreNotMixedUp(t *testing.T) {
	t.Parallel()
	_, addrs := startServers(t, 2)
	mixed(t, openTest(t, at(addrs...), connections(3)), 32, 300)
}

// mixed has callers read and write in all ways, and checks every value.
func mixed(t *testing.T, s *store, callers, rounds int) {
	t.Helper()
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(uint64(c), 1))
			for range rounds {
				if err := mixedCall(t.Context(), s, random); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// mixedValue belongs to a key and to no other: it is its name, many times.
func mixedValue(key string, random *rand.Rand) []byte {
	sizes := []int{1, 10, 100, 5_000}
	if random.IntN(50) == 0 {
		sizes = []int{300_000}
	}
	return bytes.Repeat([]byte(key+";"), 1+sizes[random.IntN(len(sizes))]/len(key))
}

func mixedCall(ctx context.Context, s *store, random *rand.Rand) error {
	keys := make([]string, 1+random.IntN(8))
	for i := range keys {
		keys[i] = fmt.Sprintf("mixed:%d", random.IntN(500))
	}
	switch random.IntN(4) {
	case 0:
		return s.Set(ctx, keys[0], mixedValue(keys[0], random), time.Hour)
	case 1:
		entries := make([]sdk.Entry, len(keys))
		for i, key := range keys {
			entries[i] = sdk.Entry{Key: key, Value: mixedValue(key, random), TTL: time.Hour}
		}
		return s.SetMany(ctx, entries)
	case 2:
		value, ok, err := s.Get(ctx, keys[0])
		return checkMixed(keys[0], value, ok, err)
	}
	found, err := s.GetMany(ctx, keys)
	for i := range found {
		if err == nil {
			err = checkMixed(keys[i], found[i].Value, found[i].OK, found[i].Err)
		}
	}
	return err
}

func checkMixed(key string, value []byte, ok bool, err error) error {
	if err != nil || !ok {
		return err
	}
	if part := []byte(key + ";"); len(value) == 0 || bytes.Count(value, part)*len(part) != len(value) {
		return fmt.Errorf("%s holds %.60q, %d bytes", key, value, len(value))
	}
	return nil
}

// Whatever the server does early, an entry lives as long as it was given, and
// no longer.
func TestEntriesLiveAsLongAsTheyWereGiven(t *testing.T) {
	t.Parallel()
	s, _ := openAt(t)
	lifetimes(t, s, 200, 3*time.Second)
}

// lifetimes stores entries for random times up to longest, and watches each.
func lifetimes(t *testing.T, s *store, entries int, longest time.Duration) {
	t.Helper()
	var all sync.WaitGroup
	var early, late atomic.Int64
	for i := range entries {
		all.Go(func() {
			key, ttl := fmt.Sprint("k", i), time.Millisecond*time.Duration(1+rand.IntN(int(longest.Milliseconds())))
			before := time.Now()
			if err := s.Set(t.Context(), key, []byte("v"), ttl); err != nil {
				t.Error(err)
				return
			}
			after := time.Now()
			for {
				asked := time.Now()
				_, ok, err := s.Get(t.Context(), key)
				answered := time.Now()
				switch {
				case err != nil:
					t.Error(err)
					return
				case !ok:
					if answered.Before(before.Add(ttl)) {
						early.Add(1)
					}
					return
				case asked.After(after.Add(ttl + time.Millisecond)):
					late.Add(1)
					return
				}
				time.Sleep(time.Duration(1+rand.IntN(20)) * time.Millisecond)
			}
		})
	}
	all.Wait()
	if early.Load() != 0 || late.Load() != 0 {
		t.Errorf("of %d entries %d left early and %d late", entries, early.Load(), late.Load())
	}
}

// A server that is too small loses entries and answers right.
func TestEvictionIsAMiss(t *testing.T) {
	t.Parallel()
	s := openTest(t, at(startServer(t, "-m", "4").Addr()))
	random := rand.New(rand.NewPCG(1, 1))
	misses := 0
	for i := range 400 {
		key := fmt.Sprintf("mixed:%d", i)
		must(t, s.Set(t.Context(), key, bytes.Repeat([]byte(key+";"), 3000), time.Hour))
		old := fmt.Sprintf("mixed:%d", random.IntN(i+1))
		value, ok, err := s.Get(t.Context(), old)
		must(t, checkMixed(old, value, ok, err))
		if !ok {
			misses++
		}
	}
	if misses == 0 {
		t.Error("nothing was evicted")
	}
}
