package memory

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/cachewright/cachewright/sdk"
)

func TestPagesListEveryKeyOnce(t *testing.T) {
	s := opened(t, options{})
	const n = 2000
	for i := range n {
		s.Set(t.Context(), fmt.Sprintf("in:%d", i), nil, sdk.NoExpiry)
		s.Set(t.Context(), fmt.Sprintf("out:%d", i), nil, sdk.NoExpiry)
	}
	for _, limit := range []int{-1, 0, 1, 2, 3, 7, 100, n - 1, n, n + 1} {
		seen := make(map[string]bool)
		var at []byte
		for {
			keys, next, err := s.Keys(t.Context(), "in:", at, limit)
			if err != nil || len(keys) > max(limit, 1) {
				t.Fatalf("a page of %d has %d keys: %v", limit, len(keys), err)
			}
			for _, key := range keys {
				if seen[key] {
					t.Errorf("pages of %d list %s twice", limit, key)
				}
				seen[key] = true
			}
			if at = next; at == nil {
				break
			}
		}
		if len(seen) != n {
			t.Errorf("pages of %d list %d keys; want %d", limit, len(seen), n)
		}
	}
}

func TestClearWorksInPages(t *testing.T) {
	s := opened(t, options{})
	const n = 2*clearPage + 5
	for i := range n {
		s.Set(t.Context(), strconv.Itoa(i), nil, sdk.NoExpiry)
	}
	var at []byte
	for page, want := range []int{clearPage, clearPage, 5} {
		next, removed, err := s.Clear(t.Context(), "", at)
		if err != nil || removed != want || (next == nil) != (page == 2) {
			t.Errorf("page %d of Clear removes %d, more: %t, %v; want %d", page, removed, next != nil, err, want)
		}
		at = next
	}
	if stats := statsOf(t, s); stats["entries"] != 0 || stats["bytes"] != 0 {
		t.Errorf("after Clear: %v", stats)
	}
}

func FuzzForeignCursorIsAnErrorOrAPage(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{255, 1, 'k'})
	f.Add([]byte{128})
	f.Add([]byte{128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1})
	s := opened(f, options{})
	for i := range 100 {
		s.Set(f.Context(), strconv.Itoa(rand.IntN(1000)+i), nil, sdk.NoExpiry)
	}
	f.Fuzz(func(t *testing.T, at []byte) {
		keys, next, err := s.Keys(t.Context(), "", at, 10)
		if err != nil && (keys != nil || next != nil) || len(keys) > 10 {
			t.Errorf("Keys from %q = %d keys, %q, %v", at, len(keys), next, err)
		}
	})
}
