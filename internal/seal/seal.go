// Package seal is what lies between a codec's bytes and a store's: compression,
// and encryption that is bound to the key of the entry, in an envelope that says
// what was done. docs/codecs.md describes the envelope byte by byte.
//
// The algorithms come from packages that a program links, so that one which
// needs none carries none.
package seal

import (
	"crypto/cipher"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// A Compression makes values smaller. Functions are called concurrently.
type Compression struct {
	Name string
	ID   byte // in envelopes; never 0, never reused

	// Compress returns data compressed, in a slice of its own.
	Compress func(data []byte) []byte
	// Decompressor returns a function that undoes Compress for values of at most
	// limit bytes. It fails with ErrTooLarge before it has used much more memory
	// than that.
	Decompressor func(limit int64) func(data []byte) ([]byte, error)
}

// A Cipher encrypts and authenticates, with keys of 32 bytes and nonces that are
// long enough to be drawn at random.
type Cipher struct {
	Name string
	ID   byte // in envelopes; never 0, never reused
	New  func(key []byte) (cipher.AEAD, error)
}

var (
	mu           sync.RWMutex // guards below
	compressions = map[string]Compression{}
	ciphers      = map[string]Cipher{}
)

// RegisterCompression links a compression into this program. A second one of
// the same name or ID panics.
func RegisterCompression(c Compression) {
	mu.Lock()
	defer mu.Unlock()
	for _, other := range compressions {
		refuseTwin(c.Name, c.ID, other.Name, other.ID)
	}
	compressions[c.Name] = c
}

// RegisterCipher links a cipher into this program. A second one of the same name
// or ID panics.
func RegisterCipher(c Cipher) {
	mu.Lock()
	defer mu.Unlock()
	for _, other := range ciphers {
		refuseTwin(c.Name, c.ID, other.Name, other.ID)
	}
	ciphers[c.Name] = c
}

func refuseTwin(name string, id byte, taken string, takenID byte) {
	if name == taken || id == takenID {
		panic(fmt.Sprintf("seal: %q (%d) is registered beside %q (%d)", name, id, taken, takenID))
	}
}

// Compressions lists the linked ones by name.
func Compressions() []string {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Sorted(maps.Keys(compressions))
}

// Ciphers lists the linked ones by name.
func Ciphers() []string {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Sorted(maps.Keys(ciphers))
}
