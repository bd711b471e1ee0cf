package config

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"

	"github.com/cachewright/cachewright/sdk"
)

// A Compress is a store's compress block.
type Compress struct {
	Algorithm string
	Above     int64 // bytes that a value must have to be worth it
	MaxSize   int64 // bytes that a value may have, decompressed
}

// An Encrypt is a store's encrypt block.
type Encrypt struct {
	Algorithm string
	Key       string            // the id of the one that seals
	Keys      map[string]Secret // by id, those that open
}

// A Secret prints as nothing of what it is.
type Secret []byte

// Format hides the secret from every verb.
func (Secret) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "(hidden)") }

// Defaults of a compress and an encrypt block.
const (
	DefaultCompression   = "zstd"
	DefaultCompressAbove = 1 << 10
	DefaultMaxSize       = 64 << 20
	DefaultCipher        = "xchacha20-poly1305"
)

// keySize is what every cipher of ours takes.
const keySize = 32

// keyIDPattern keeps ids shorter than any key is when it is written out, so that
// one in the place of the other is never taken for it, and printed.
var keyIDPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// packages are where the codecs and layers of this product come from that a
// program has to link.
var packages = map[string]string{
	"msgpack":          "msgpack",
	DefaultCompression: "zstd",
	DefaultCipher:      "xchacha20poly1305",
}

// linked is a choice among what this program has linked. What it could link is
// answered with how.
func (s section) linked(key, fallback string, have []string) string {
	text, ok := s.text(key)
	if !ok {
		text = fallback
	}
	if pkg, ours := packages[text]; ours && !slices.Contains(have, text) {
		s.about(join(s.path, key), `%s is not linked into this program; import _ "github.com/cachewright/cachewright/codecs/%s"`, text, pkg)
		return fallback
	}
	if !slices.Contains(have, text) && ok {
		s.unknownChoice(key, have)
		return fallback
	}
	return text
}

func (s section) unknownChoice(key string, have []string) {
	if len(have) == 0 {
		s.about(join(s.path, key), "names nothing that this program has")
		return
	}
	s.about(join(s.path, key), "must be %s", oneOf(have))
}

// compress is nil without the block. A text alone is the algorithm.
func (l *loader) compress(store section) *Compress {
	v, ok := store.present("compress")
	if !ok {
		return nil
	}
	if _, short := v.(string); short {
		return &Compress{store.linked("compress", DefaultCompression, l.opts.Compressions), DefaultCompressAbove, DefaultMaxSize}
	}
	s, ok := store.section("compress")
	if !ok {
		return nil
	}
	s.only("algorithm", "above", "max_size")
	c := &Compress{
		Algorithm: s.linked("algorithm", DefaultCompression, l.opts.Compressions),
		Above:     s.bytes("above", DefaultCompressAbove),
		MaxSize:   s.bytes("max_size", DefaultMaxSize),
	}
	if c.MaxSize < 1 || c.MaxSize > maxDecompressed {
		s.about(join(s.path, "max_size"), "must be above zero, and at most 1GiB")
	}
	return c
}

// maxDecompressed bounds what one value may claim of the program's memory.
const maxDecompressed = 1 << 30

// bytes is fallback without the key and where it isn't a number of bytes.
func (s section) bytes(key string, fallback int64) int64 {
	v, ok := s.present(key)
	if !ok {
		return fallback
	}
	n, err := sdk.ParseBytes(v)
	if err != nil {
		s.about(join(s.path, key), "wants a number of bytes, such as 64MiB")
		return fallback
	}
	return int64(n)
}

// encrypt is nil without the block.
func (l *loader) encrypt(store section) *Encrypt {
	if _, given := store.values["encrypt"]; !given {
		return nil
	}
	s, ok := store.section("encrypt")
	if !ok {
		return nil
	}
	s.only("algorithm", "key", "keys")
	e := &Encrypt{
		Algorithm: s.linked("algorithm", DefaultCipher, l.opts.Ciphers),
		Keys:      s.keys(),
	}
	e.Key = s.sealingKey(e.Keys)
	return e
}

// keys are those by which a store can open. No error names one whose id isn't
// an id, for it may be a key.
func (s section) keys() map[string]Secret {
	keys := make(map[string]Secret)
	all, ok := s.section("keys")
	if len(all.values) == 0 {
		if ok && s.reportedBelow(all.path) { // a reference that failed
			return keys
		}
		s.about(join(s.path, "keys"), "is required: an id, and 32 bytes in base64 or hexadecimal")
		return keys
	}
	for _, id := range all.names() {
		if !keyIDPattern.MatchString(id) {
			s.about(all.path, "holds an id that is none: 1 to 32 letters, digits, dashes and underscores")
			continue
		}
		if text, ok := all.text(id); ok {
			keys[id] = all.key(id, text)
		}
	}
	return keys
}

func (s section) key(id, text string) Secret {
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString,
		base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString,
		base64.URLEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if key, err := decode(text); err == nil && len(key) == keySize {
			return key
		}
	}
	s.about(join(s.path, id), "wants 32 bytes in base64 or hexadecimal, as openssl rand -base64 32 writes them")
	return nil
}

// sealingKey is the id under key, or the only one there is.
func (s section) sealingKey(keys map[string]Secret) string {
	ids := slices.Sorted(maps.Keys(keys))
	id, ok := s.text("key")
	switch {
	case len(ids) == 0: // reported
	case !ok && len(ids) == 1:
		return ids[0]
	case !ok:
		s.about(join(s.path, "key"), "is required where there are several keys; it seals: %s", oneOf(ids))
	case !slices.Contains(ids, id) && !s.reported(join(join(s.path, "keys"), id)):
		s.about(join(s.path, "key"), "must be %s", oneOf(ids))
	}
	return id
}
