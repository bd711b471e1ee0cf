package docs

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/seal"
)

// The page's Go blocks stand in this file, so that they compile and run.

import (
	_ "github.com/cachewright/cachewright/codecs/msgpack"
	_ "github.com/cachewright/cachewright/codecs/xchacha20poly1305" // encryption
	_ "github.com/cachewright/cachewright/codecs/zstd"              // compression
)

type gobCodec struct{}

func (gobCodec) Name() string { return "gob" }

func (gobCodec) Encode(v any) ([]byte, error) {
	if v == nil {
		return nil, fmt.Errorf("%w: gob has none", cache.ErrNull)
	}
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(v); err != nil {
		return nil, fmt.Errorf("%w: %T can't be written as gob", cache.ErrWrongType, v)
	}
	return buf.Bytes(), nil
}

func (gobCodec) IsNull([]byte) bool { return false }

func (gobCodec) Decode(data []byte, dst any) error {
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(dst); err != nil {
		return fmt.Errorf("%w: not the gob of that type", cache.ErrCorrupt)
	}
	return nil
}

func init() { cache.RegisterCodec(gobCodec{}) }

func TestBlocksOfCodecsAreInThisFile(t *testing.T) {
	source := read(t, "codecs_test.go")
	found := blocks(read(t, "codecs.md"), "go")
	if len(found) != 2 {
		t.Fatalf("codecs.md has %d Go blocks", len(found))
	}
	for _, block := range found {
		if !strings.Contains(source, block) {
			t.Errorf("codecs.md has a block that is not in codecs_test.go:\n%s", block)
		}
	}
}

func TestTheCodecOfThePageWorksUnderEveryLayer(t *testing.T) {
	m, err := cache.OpenConfig(t.Context(), cache.Config{Default: "a", Stores: map[string]cache.StoreConfig{"a": {
		Driver: "memory", Codec: "gob", Compress: cache.CompressConfig{Above: 10},
		Encrypt: cache.EncryptConfig{Keys: map[string]string{"a": strings.Repeat("07", 32)}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(t.Context())
	if err := m.Set(t.Context(), "k", Report{strings.Repeat("text ", 100)}, time.Minute); err != nil {
		t.Fatal(err)
	}
	report, ok, err := cache.Of[Report](m).Get(t.Context(), "k")
	if len(report.Text) != 500 || !ok || err != nil {
		t.Errorf("Get = %d bytes, %t, %v", len(report.Text), ok, err)
	}
	if err := m.Set(t.Context(), "k", nil, time.Minute); !errors.Is(err, cache.ErrNull) {
		t.Errorf("Set of nil: %v", err)
	}
}

// The reasons in the page's table are the ones that are given.
func TestReasonsOfCodecsAreTrue(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	encrypting := seal.Config{Cipher: "xchacha20-poly1305", Key: "2026-11", Keys: map[string][]byte{"2026-11": key}}
	former := seal.Config{Cipher: "xchacha20-poly1305", Key: "2026-05", Keys: map[string][]byte{"2026-05": key}}
	compressing := seal.Config{Compression: "zstd", MaxSize: 1000}
	roomy := seal.Config{Compression: "zstd"}
	made := func(c seal.Config) []byte {
		s, err := seal.New(c)
		if err != nil {
			t.Fatal(err)
		}
		data, err := s.Seal("k", make([]byte, 2000))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	damaged := made(roomy)
	damaged[len(damaged)-1] ^= 1
	page := read(t, "codecs.md")
	for _, test := range []struct {
		by   seal.Config
		data []byte
	}{
		{compressing, []byte("x")},
		{compressing, []byte("\xC1CWS\x01")},
		{compressing, []byte("\xC1CWS\x02\x00\x00")},
		{compressing, []byte("\xC1CWS\x01\x09\x00")},
		{encrypting, []byte("\xC1CWS\x01\x00\x09\x01a")},
		{encrypting, made(compressing2000())},
		{compressing, made(encrypting)},
		{encrypting, made(former)},
		{encrypting, append(made(encrypting), 'x')},
		{compressing, made(roomy)},
		{roomy, damaged},
	} {
		s, err := seal.New(test.by)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Open("k", test.data)
		if err == nil {
			t.Errorf("%q opens", test.data[:min(len(test.data), 20)])
			continue
		}
		_, reason, _ := strings.Cut(err.Error(), ": ")
		if head, _, long := strings.Cut(reason, ", so that"); long {
			reason = head
		}
		if head, _, long := strings.Cut(reason, ": it was"); long {
			reason = head
		}
		if head, _, long := strings.Cut(reason, " 9, "); long {
			reason = head + " 9"
		}
		if !strings.Contains(page, reason) {
			t.Errorf("codecs.md lacks the reason %q", reason)
		}
	}
}

func compressing2000() seal.Config { return seal.Config{Compression: "zstd", MaxSize: 2000} }
