package seal

import (
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/cachewright/cachewright/internal/wire"
)

// DefaultMaxSize bounds a value, decompressed, where a store's own compression
// sets no bound.
const DefaultMaxSize = 64 << 20

// A Config is what a store wants done to its values.
type Config struct {
	Compression string // "": none
	Above       int64  // bytes of a value that is worth compressing
	MaxSize     int64  // bytes of a value, decompressed; 0: DefaultMaxSize

	Cipher string // "": none
	Key    string // the id of the key that encrypts
	Keys   map[string][]byte
}

// A Sealer puts values into envelopes and takes them out. It is safe for
// concurrent use, and prints nothing of its keys.
type Sealer struct {
	compression *Compression
	above       int64
	maxSize     int64
	decompress  map[byte]func() func([]byte) ([]byte, error)

	cipher *Cipher
	key    string
	keys   map[string]cipher.AEAD
}

// New makes the sealer of a store. Its errors quote no key.
func New(c Config) (*Sealer, error) {
	s := &Sealer{above: c.Above, maxSize: c.MaxSize, key: c.Key}
	if s.maxSize == 0 {
		s.maxSize = DefaultMaxSize
	}
	mu.RLock()
	defer mu.RUnlock()
	s.decompress = make(map[byte]func() func([]byte) ([]byte, error), len(compressions))
	for _, known := range compressions {
		s.decompress[known.ID] = sync.OnceValue(func() func([]byte) ([]byte, error) { return known.Decompressor(s.maxSize) })
	}
	if c.Compression != "" {
		compression, ok := compressions[c.Compression]
		if !ok {
			return nil, fmt.Errorf("compression %s is not linked into this program", c.Compression)
		}
		s.compression = &compression
	}
	return s, s.useKeys(c)
}

func (s *Sealer) useKeys(c Config) error {
	if c.Cipher == "" {
		return nil
	}
	algorithm, ok := ciphers[c.Cipher]
	if !ok {
		return fmt.Errorf("cipher %s is not linked into this program", c.Cipher)
	}
	s.cipher = &algorithm
	s.keys = make(map[string]cipher.AEAD, len(c.Keys))
	for id, key := range c.Keys {
		if !isKeyID(id) {
			return fmt.Errorf("the id of a key is none: it has 1 to %d letters, digits, dashes and underscores", maxKeyID)
		}
		aead, err := algorithm.New(key)
		if err != nil {
			return fmt.Errorf("key %s does not fit cipher %s", id, c.Cipher)
		}
		s.keys[id] = aead
	}
	if s.keys[c.Key] == nil {
		return fmt.Errorf("there is no key %s to encrypt with", c.Key)
	}
	return nil
}

// Format prints that it is a sealer, whatever the verb.
func (s *Sealer) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(sealer)")) }

// Seal puts a value into an envelope for the entry at key. A value above the
// bound for decompressed ones is ErrTooLarge: nobody could open it.
func (s *Sealer) Seal(key string, data []byte) ([]byte, error) {
	e := envelope{payload: data}
	if s.compression != nil {
		if int64(len(data)) > s.maxSize {
			return nil, fmt.Errorf("%w: it has %d bytes, and compress.max_size is %d", wire.ErrTooLarge, len(data), s.maxSize)
		}
		e.compress(*s.compression, s.above)
	}
	if s.cipher == nil {
		return append(e.header(len(e.payload)), e.payload...), nil
	}
	e.cipher, e.keyID = s.cipher.ID, s.key
	aead := s.keys[s.key]
	sealed := e.header(aead.NonceSize() + len(e.payload) + aead.Overhead())
	bound := boundTo(sealed, key)
	nonce := sealed[len(sealed) : len(sealed)+aead.NonceSize()]
	_, _ = rand.Read(nonce) // never fails
	sealed = sealed[:len(sealed)+len(nonce)]
	return aead.Seal(sealed, nonce, e.payload, bound), nil
}

// Open takes the value out of an envelope of the entry at key. What can't be
// opened is ErrCorrupt with the reason. The result may share memory with data.
func (s *Sealer) Open(key string, data []byte) ([]byte, error) {
	e, err := parse(data)
	if err != nil {
		return nil, err
	}
	if err := s.decrypt(&e, key, data); err != nil {
		return nil, err
	}
	if e.compression == 0 {
		return e.payload, nil
	}
	decompress, linked := s.decompress[e.compression]
	if !linked {
		return nil, corrupt("it is compressed by method %d, which this program has not linked", e.compression)
	}
	payload, err := decompress()(e.payload)
	switch {
	case errors.Is(err, wire.ErrTooLarge):
		return nil, corrupt("decompressed it has more than the %d bytes that are allowed", s.maxSize)
	case err != nil:
		return nil, corrupt("its compressed bytes are damaged")
	}
	return payload, nil
}

// decrypt opens the payload. A store that encrypts takes nothing that isn't.
func (s *Sealer) decrypt(e *envelope, key string, data []byte) error {
	switch {
	case e.cipher == 0 && s.cipher == nil:
		return nil
	case e.cipher == 0:
		return corrupt("it is not encrypted, and the store takes only what is")
	case s.cipher == nil:
		return corrupt("it is encrypted, and the store has no keys")
	case e.cipher != s.cipher.ID:
		return corrupt("it is encrypted by method %d, and the store's is %d", e.cipher, s.cipher.ID)
	}
	aead := s.keys[e.keyID]
	if aead == nil {
		return corrupt("it is encrypted with key %q, which the store does not have", e.keyID)
	}
	if len(e.payload) < aead.NonceSize()+aead.Overhead() {
		return errShort
	}
	header := data[:len(data)-len(e.payload)]
	nonce, sealed := e.payload[:aead.NonceSize()], e.payload[aead.NonceSize():]
	payload, err := aead.Open(nil, nonce, sealed, boundTo(header, key))
	if err != nil {
		return corrupt("authentication failed: it was changed, it belongs to another entry, or key %q is another one", e.keyID)
	}
	e.payload = payload
	return nil
}

// boundTo is what is authenticated beside the value: that it is this envelope,
// of this entry. The header tells its own end.
func boundTo(header []byte, key string) []byte {
	bound := make([]byte, 0, len(header)+len(key))
	return append(append(bound, header...), key...)
}
