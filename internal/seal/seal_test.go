package seal_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	_ "github.com/cachewright/cachewright/codecs/xchacha20poly1305"
	_ "github.com/cachewright/cachewright/codecs/zstd"
	"github.com/cachewright/cachewright/internal/seal"
	"github.com/cachewright/cachewright/internal/wire"
)

const cipherName = "xchacha20-poly1305"

var (
	oldKey = []byte("0123456789abcdefghijklmnopqrstuv")
	newKey = []byte("vutsrqponmlkjihgfedcba9876543210")

	compressing = seal.Config{Compression: "zstd", Above: 100, MaxSize: 1 << 20}
	encrypting  = seal.Config{Cipher: cipherName, Key: "new", Keys: map[string][]byte{"new": newKey, "old": oldKey}}
	both        = seal.Config{Compression: "zstd", Above: 100, MaxSize: 1 << 20, Cipher: cipherName, Key: "new", Keys: map[string][]byte{"new": newKey, "old": oldKey}}
)

func sealer(t testing.TB, c seal.Config) *seal.Sealer {
	t.Helper()
	s, err := seal.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sealed(t testing.TB, c seal.Config, key string, data []byte) []byte {
	t.Helper()
	sealed, err := sealer(t, c).Seal(key, data)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestWhatIsSealedOpens(t *testing.T) {
	t.Parallel()
	random := make([]byte, 5000)
	_, _ = rand.Read(random)
	for name, c := range map[string]seal.Config{"compress": compressing, "encrypt": encrypting, "both": both} {
		s := sealer(t, c)
		for _, data := range [][]byte{nil, {0}, []byte("short"), bytes.Repeat([]byte("long "), 10_000), random, []byte("\xC1CWS\x01\x00\x00")} {
			before := bytes.Clone(data)
			sealed, err := s.Seal("app:k", data)
			if err != nil {
				t.Fatalf("%s: Seal: %v", name, err)
			}
			opened, err := s.Open("app:k", sealed)
			if err != nil || !bytes.Equal(opened, data) {
				t.Errorf("%s: %d bytes became %d, %v", name, len(data), len(opened), err)
			}
			if !bytes.Equal(before, data) {
				t.Errorf("%s: Seal changed what it was given", name)
			}
			if c.Cipher != "" && len(data) > 1 && bytes.Contains(sealed, data) {
				t.Errorf("%s: the value can be read", name)
			}
		}
	}
}

// The layout is what docs/codecs.md says of it.
func TestTheEnvelopeByteByByte(t *testing.T) {
	t.Parallel()
	if got := sealed(t, compressing, "k", []byte("value")); string(got) != "\xC1CWS\x01\x00\x00value" {
		t.Errorf("not worth compressing: %q", got)
	}
	long := bytes.Repeat([]byte("v"), 1000)
	if got := sealed(t, compressing, "k", long); !bytes.HasPrefix(got, []byte("\xC1CWS\x01\x01\x00\x28\xb5\x2f\xfd")) || len(got) > 100 {
		t.Errorf("compressed: %d bytes, %q", len(got), got[:min(len(got), 20)])
	}
	got := sealed(t, encrypting, "k", []byte("value"))
	if !bytes.HasPrefix(got, []byte("\xC1CWS\x01\x00\x01\x03new")) || len(got) != 4+3+1+3+24+5+16 {
		t.Errorf("encrypted: %d bytes, %q", len(got), got)
	}
	if again := sealed(t, encrypting, "k", []byte("value")); bytes.Equal(again[11:35], got[11:35]) {
		t.Error("two values have one nonce")
	}
	if got := sealed(t, both, "k", long); !bytes.HasPrefix(got, []byte("\xC1CWS\x01\x01\x01\x03new")) || len(got) > 150 {
		t.Errorf("both: %d bytes", len(got))
	}
}

// An envelope written once opens for ever. This one was made by another hand:
// nonce 0 to 23, key "old", entry app:k.
func TestAnEnvelopeOfTheFirstReleaseOpens(t *testing.T) {
	t.Parallel()
	const written = "\xC1CWS\x01\x00\x01\x03old" +
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17" +
		"\x25\x32\xfe\x57\x08\x2d\x35\xb2\xda\xda\x0b\xd8\xc6\xd4\x95\xa6\x42\x30\xbd\x25\xcd\x06\x90\xad\x59\x0c\x0d\x8e\xb7\x48"
	got, err := sealer(t, encrypting).Open("app:k", []byte(written))
	if err != nil || string(got) != `{"name":"Ada"}` {
		t.Errorf("Open = %q, %v", got, err)
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	only := func(id string, key []byte) seal.Config {
		return seal.Config{Cipher: cipherName, Key: id, Keys: map[string][]byte{id: key}}
	}
	old := sealed(t, only("old", oldKey), "k", []byte("v"))
	if got, err := sealer(t, encrypting).Open("k", old); err != nil || string(got) != "v" {
		t.Errorf("with both keys the old envelope gives %q, %v", got, err)
	}
	for name, c := range map[string]seal.Config{
		`encrypted with key "old", which the store does not have`: only("new", newKey),
		`authentication failed`:                                   only("old", newKey),
	} {
		if _, err := sealer(t, c).Open("k", old); !errors.Is(err, wire.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("Open = %v; want %s", err, name)
		}
	}
}

func TestWhatCannotBeOpenedSaysWhy(t *testing.T) {
	t.Parallel()
	zeros := bytes.Repeat([]byte{0}, 1<<20)
	roomy := compressing
	roomy.MaxSize = 1 << 30
	tight := compressing
	tight.MaxSize = 1000
	encrypted, plain := string(sealed(t, encrypting, "k", []byte("hunter2"))), string(sealed(t, compressing, "k", []byte("hunter2")))
	compressed := string(sealed(t, compressing, "k", zeros[:1001]))
	for _, test := range []struct {
		name   string
		by     seal.Config
		key    string
		data   string
		reason string
	}{
		{"nothing", encrypting, "k", "", "no envelope"},
		{"JSON", encrypting, "k", `{"a":"hunter2"}`, "no envelope"},
		{"a beginning of the magic", encrypting, "k", "\xC1C", "cut short"},
		{"another version", encrypting, "k", "\xC1CWS\x02\x00\x00hunter2", "version 2, and this program knows 1"},
		{"no more than the magic", encrypting, "k", "\xC1CWS", "cut short"},
		{"an unknown compression", compressing, "k", "\xC1CWS\x01\x09\x00hunter2", "method 9"},
		{"an unknown cipher", encrypting, "k", "\xC1CWS\x01\x00\x09\x03newhunter2", "method 9"},
		{"no encryption where there must be some", encrypting, "k", plain, "not encrypted"},
		{"encryption where there are no keys", compressing, "k", encrypted, "no keys"},
		{"a key's name that is none", encrypting, "k", "\xC1CWS\x01\x00\x01\x03a\nbhunter2hunter2", "names no key"},
		{"a key's name without end", encrypting, "k", "\xC1CWS\x01\x00\x01\xffabc", "cut short"},
		{"an unknown key", encrypting, "k", strings.Replace(encrypted, "\x03new", "\x03abc", 1), `key "abc"`},
		{"another key's name", encrypting, "k", strings.Replace(encrypted, "\x03new", "\x03old", 1), "authentication failed"},
		{"an entry under another key", encrypting, "q", encrypted, "authentication failed"},
		{"no room for a nonce", encrypting, "k", encrypted[:20], "cut short"},
		{"a tag cut short", encrypting, "k", encrypted[:len(encrypted)-1], "authentication failed"},
		{"compression claimed afterwards", both, "k", strings.Replace(encrypted, "\x01\x00\x01", "\x01\x01\x01", 1), "authentication failed"},
		{"damaged compression", compressing, "k", compressed[:len(compressed)-3] + "abc", "damaged"},
		{"too much, decompressed", tight, "k", compressed, "more than the 1000 bytes"},
		{"too much in two frames", tight, "k", string(sealed(t, roomy, "k", zeros[:900])) + string(sealed(t, roomy, "k", zeros[:900]))[7:], "more than the 1000 bytes"},
	} {
		got, err := sealer(t, test.by).Open(test.key, []byte(test.data))
		if !errors.Is(err, wire.ErrCorrupt) || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: %q, %v; want %s", test.name, got, err, test.reason)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the value: %v", test.name, err)
		}
	}
}

func TestNoChangedByteIsTaken(t *testing.T) {
	t.Parallel()
	s := sealer(t, both)
	good := sealed(t, both, "k", bytes.Repeat([]byte("value"), 50))
	for i := range good {
		for _, bit := range []byte{1, 0x80} {
			bad := bytes.Clone(good)
			bad[i] ^= bit
			if _, err := s.Open("k", bad); !errors.Is(err, wire.ErrCorrupt) {
				t.Errorf("byte %d changed: %v", i, err)
			}
		}
		if _, err := s.Open("k", good[:i]); !errors.Is(err, wire.ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

// Not parallel: it counts the process's memory.
func TestNoBeginningOfAnEnvelopeIsTakenForAll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]seal.Config{"compressing": compressing, "encrypting": encrypting, "both": both} {
		whole := sealed(t, c, "k", bytes.Repeat([]byte("a"), 5000))
		for n := range whole {
			if plain, err := sealer(t, c).Open("k", whole[:n]); !errors.Is(err, wire.ErrCorrupt) {
				t.Errorf("%s: %d of %d bytes open as %d bytes, %v", name, n, len(whole), len(plain), err)
			}
		}
	}
}

func TestWhatIsCompressedIsOneFrame(t *testing.T) {
	t.Parallel()
	const header = 7
	whole := sealed(t, compressing, "k", bytes.Repeat([]byte("a"), 5000))
	skipped := "\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"
	for name, data := range map[string]string{
		"none":              string(whole[:header]),
		"two":               string(whole) + string(whole[header:]),
		"a skippable one":   string(whole[:header]) + skipped,
		"one and skippable": string(whole[:header]) + skipped + string(whole[header:]),
	} {
		if plain, err := sealer(t, compressing).Open("k", []byte(data)); !errors.Is(err, wire.ErrCorrupt) {
			t.Errorf("%s: opens as %d bytes, %v", name, len(plain), err)
		}
	}
}

func TestEverySizeUpToTheBoundComesBack(t *testing.T) {
	t.Parallel()
	for _, bound := range []int64{1, 21, 22, 100, 1023, 1024, 1025, 3000} {
		s := sealer(t, seal.Config{Compression: "zstd", Above: 1, MaxSize: bound})
		for n := max(0, bound-60); n <= bound; n++ {
			plain := bytes.Repeat([]byte("a"), int(n))
			sealed, err := s.Seal("k", plain)
			if err != nil {
				t.Fatalf("bound %d: %d bytes: Seal: %v", bound, n, err)
			}
			if got, err := s.Open("k", sealed); err != nil || !bytes.Equal(got, plain) {
				t.Fatalf("bound %d: %d bytes: Open: %d bytes, %v", bound, n, len(got), err)
			}
		}
		larger := sealed(t, seal.Config{Compression: "zstd", Above: 1}, "k", bytes.Repeat([]byte("a"), int(bound)+60))
		if got, err := s.Open("k", larger); !errors.Is(err, wire.ErrCorrupt) {
			t.Errorf("bound %d: %d bytes open, %v", bound, len(got), err)
		}
	}
}

func TestABombIsDefused(t *testing.T) {
	roomy := compressing
	roomy.MaxSize = 1 << 30
	bomb := sealed(t, roomy, "k", make([]byte, 128<<20))
	s := sealer(t, compressing)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := s.Open("k", bomb)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, wire.ErrCorrupt) || after.TotalAlloc-before.TotalAlloc > 16<<20 {
		t.Errorf("a bomb of %d bytes took %d bytes: %v", len(bomb), after.TotalAlloc-before.TotalAlloc, err)
	}
}

func TestAValueThatNobodyCouldOpenIsNotSealed(t *testing.T) {
	t.Parallel()
	s := sealer(t, compressing)
	if _, err := s.Seal("k", make([]byte, 1<<20)); err != nil {
		t.Errorf("a value of the greatest size: %v", err)
	}
	if _, err := s.Seal("k", make([]byte, 1<<20+1)); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("a greater one: %v; want ErrTooLarge", err)
	}
}

func TestAStoreThatStoppedCompressingReadsWhatItCompressed(t *testing.T) {
	t.Parallel()
	value := bytes.Repeat([]byte("value"), 100)
	if got, err := sealer(t, encrypting).Open("k", sealed(t, both, "k", value)); err != nil || !bytes.Equal(got, value) {
		t.Errorf("Open = %d bytes, %v", len(got), err)
	}
}

func TestWrongKeysAreRefusedWithoutBeingShown(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]seal.Config{
		"compression lz4 is not linked":  {Compression: "lz4"},
		"cipher rot13 is not linked":     {Cipher: "rot13"},
		"key a does not fit":             {Cipher: cipherName, Key: "a", Keys: map[string][]byte{"a": []byte("hunter2")}},
		"there is no key b":              {Cipher: cipherName, Key: "b", Keys: map[string][]byte{"a": oldKey}},
		"the id of a key is none":        {Cipher: cipherName, Key: "a:b", Keys: map[string][]byte{"a:b": oldKey}},
		"there is no key  to encrypt wi": {Cipher: cipherName},
	} {
		if _, err := seal.New(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("New = %v; want %s", err, want)
		}
	}
	s := sealer(t, encrypting)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if text := fmt.Sprintf(verb, s); text != "(sealer)" {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, c := range []seal.Config{compressing, encrypting, both} {
		for _, data := range []string{"", "value", strings.Repeat("value", 100)} {
			f.Add(sealed(f, c, "k", []byte(data)))
		}
	}
	f.Add([]byte("\xC1CWS\x01\x01\x00\x28\xb5\x2f\xfd\x04\x00\x01\x00\x00"))
	tight := seal.Config{Compression: "zstd", MaxSize: 4096}
	sealers := []*seal.Sealer{sealer(f, tight), sealer(f, encrypting), sealer(f, both)}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		for i, s := range sealers {
			value, err := s.Open("k", data)
			switch {
			case err != nil && !errors.Is(err, wire.ErrCorrupt):
				t.Errorf("Open: %v", err)
			case err == nil && i == 0 && bytes.HasPrefix(data, []byte("\xC1CWS\x01\x01")) && len(value) > 4096:
				t.Errorf("%d bytes were let through", len(value))
			}
			if !bytes.Equal(before, data) {
				t.Fatal("Open changed the bytes")
			}
		}
	})
}

func FuzzSeal(f *testing.F) {
	f.Add("k", []byte("value"))
	sealers := []*seal.Sealer{sealer(f, compressing), sealer(f, encrypting), sealer(f, both)}
	f.Fuzz(func(t *testing.T, key string, data []byte) {
		for _, s := range sealers {
			sealed, err := s.Seal(key, data)
			if err != nil {
				t.Fatal(err)
			}
			if opened, err := s.Open(key, sealed); err != nil || !bytes.Equal(opened, data) {
				t.Errorf("%x became %x, %v", data, opened, err)
			}
		}
	})
}
