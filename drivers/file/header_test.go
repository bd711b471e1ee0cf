package file

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/sdk"
)

func entryBytes(key string, deadline int64, value []byte) []byte {
	return append(appendHeader(nil, key, deadline, value), value...)
}

func TestHeaderRoundTrip(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", strings.Repeat("k", maxKey), "é\x01🙂"} {
		for _, deadline := range []int64{0, 1, math.MaxInt32 + 1, math.MaxInt64} {
			h, err := parseHeader(entryBytes(key, deadline, []byte("value")))
			if err != nil || string(h.key) != key || h.deadline != deadline || h.valueSize != 5 {
				t.Errorf("%q until %d came back as %q until %d: %v", key, deadline, h.key, h.deadline, err)
			}
		}
	}
}

func TestAnyDamageToAHeaderIsSeen(t *testing.T) {
	t.Parallel()
	whole := appendHeader(nil, "app:key", 1234567890123, []byte("value"))
	for i := range whole {
		for bit := range 8 {
			damaged := bytes.Clone(whole)
			damaged[i] ^= 1 << bit
			if _, err := parseHeader(damaged); !errors.Is(err, sdk.ErrCorrupt) {
				t.Errorf("bit %d of byte %d is flipped: %v", bit, i, err)
			}
		}
		if _, err := parseHeader(whole[:i]); !errors.Is(err, sdk.ErrCorrupt) {
			t.Errorf("only %d bytes are left: %v", i, err)
		}
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte(magic))
	f.Add(entryBytes("key", 0, []byte("value")))
	f.Add(entryBytes(strings.Repeat("k", maxKey), math.MaxInt64, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHeader(b)
		if err != nil {
			if !errors.Is(err, sdk.ErrCorrupt) {
				t.Fatalf("the error is no ErrCorrupt: %v", err)
			}
			return
		}
		again := appendHeader(nil, string(h.key), h.deadline, nil)
		if len(again) != h.size() || !bytes.Equal(again[:16], b[:16]) {
			t.Fatalf("%x was read as %+v", b, h)
		}
	})
}

// FuzzEntryFile reads whole files of any content as entries.
func FuzzEntryFile(f *testing.F) {
	f.Add(entryBytes("key", 0, []byte("value")), "key")
	f.Add(entryBytes("key", 0, bytes.Repeat([]byte("v"), firstRead)), "key")
	f.Add(entryBytes("key", 1, []byte("expired")), "key")
	huge := appendHeader(nil, "key", 0, nil)
	f.Add(huge, "key")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte, key string) {
		path := filepath.Join(dir, "entry")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		it, err := readItem(int(file.Fd()), key)
		switch {
		case err != nil && !errors.Is(err, sdk.ErrCorrupt):
			t.Fatalf("the error is no ErrCorrupt: %v", err)
		case err == nil && !it.expired && !bytes.Equal(content, entryBytes(key, it.deadline, it.value)):
			t.Fatalf("%x was read as %q until %d", content, it.value, it.deadline)
		}
	})
}
