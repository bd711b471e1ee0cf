package memcached

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/cachewright/cachewright/sdk"
)

// damages are items that nobody can take for an entry of key.
func damages() map[string][]byte {
	item := newItem(plain, "key", 0, []byte("value"))
	damaged := append([]byte(nil), item...)
	damaged[len(damaged)-1]++
	newer := append([]byte(nil), item...)
	newer[4] = formatVersion + 1
	return map[string][]byte{
		"of another program":    []byte(`O:8:"stdClass":0:{}`),
		"empty":                 nil,
		"a number":              []byte("42"),
		"cut short":             item[:len(item)-1],
		"a part of a header":    item[:10],
		"damaged":               damaged,
		"of a later version":    newer,
		"another key's":         newItem(plain, "other", 0, []byte("value")),
		"a lock":                newItem(isLease, "key", 0, []byte("value")),
		"expired, and of a day": newItem(plain, "key", 1, nil)[:20],
	}
}

func TestAnItemThatCantBeReadIsNeverAMiss(t *testing.T) {
	t.Parallel()
	s, direct := openAt(t)
	for name, item := range damages() {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			plant := func() {
				t.Helper()
				must(t, direct.Set(&memcache.Item{Key: "key", Value: item, Flags: 7}))
			}
			plant()
			for op, call := range map[string]func() error{
				"Get":       func() error { _, _, err := s.Get(ctx, "key"); return err },
				"Pull":      func() error { _, _, err := s.Pull(ctx, "key"); return err },
				"Add":       func() error { _, err := s.Add(ctx, "key", nil, time.Hour); return err },
				"Replace":   func() error { _, err := s.Replace(ctx, "key", nil, time.Hour); return err },
				"Increment": func() error { _, err := s.Increment(ctx, "key", 1, time.Hour); return err },
				"Touch":     func() error { _, err := s.Touch(ctx, "key", time.Hour); return err },
				"TTL":       func() error { _, _, err := s.TTL(ctx, "key"); return err },
				"CompareDelete": func() error {
					_, err := s.CompareDelete(ctx, "key", []byte("value"))
					return err
				},
			} {
				err := call()
				fails(t, err, sdk.ErrCorrupt, "set or delete")
				if strings.Contains(err.Error(), "value") || strings.Contains(err.Error(), "stdClass") {
					t.Errorf("%s: %v tells what is there", op, err)
				}
			}
			checkBatchWith(ctx, t, s)
			got, err := direct.Get("key")
			if err != nil || string(got.Value) != string(item) {
				t.Errorf("the item has become %q, %v", got.Value, err)
			}
			set(t, s, "key", "repaired", time.Hour)
			holds(t, s, "key", "repaired")
			plant()
			existed, err := s.Delete(ctx, "key")
			if !existed || err != nil {
				t.Errorf("Delete: %v, %v", existed, err)
			}
			holds(t, s, "key", "")
			plant()
			if n, err := s.DeleteMany(ctx, []string{"key", "absent"}); n != 1 || err != nil {
				t.Errorf("DeleteMany: %d, %v", n, err)
			}
		})
	}
}

// checkBatchWith checks that one bad item spoils no other's answer.
func checkBatchWith(ctx context.Context, t *testing.T, s *store) {
	t.Helper()
	set(t, s, "good", "v", time.Hour)
	found, err := s.GetMany(ctx, []string{"good", "key", "absent"})
	must(t, err)
	fails(t, found[1].Err, sdk.ErrCorrupt)
	if !found[0].OK || found[1].OK || found[2].OK || found[0].Err != nil || found[2].Err != nil {
		t.Errorf("a batch is answered by %+v", found)
	}
}

// A reservation of the redlock strategy that is of another program counts as
// taken: it is an error of Add, not a free key.
func TestAForeignReservationIsNotTakenOver(t *testing.T) {
	t.Parallel()
	s, direct := openAt(t)
	must(t, direct.Set(&memcache.Item{Key: "job-lock", Value: []byte("another program's token")}))
	added, err := s.Add(t.Context(), "job-lock", []byte("token"), time.Minute)
	fails(t, err, sdk.ErrCorrupt)
	if added {
		t.Error("it was taken over")
	}
}
