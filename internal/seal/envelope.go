package seal

import (
	"fmt"

	"github.com/cachewright/cachewright/internal/wire"
)

// The beginning of every envelope: a byte that begins neither JSON nor
// MessagePack nor UTF-8, and a name.
const (
	magic      = "\xC1CWS"
	version    = 1
	headerSize = len(magic) + 3 // and further, of what is encrypted
	maxKeyID   = 32
)

// An envelope is a sealed value, taken apart: what was done to it, and what came
// out, with the nonce before it where it is encrypted.
type envelope struct {
	compression byte // 0: none
	cipher      byte // 0: none
	keyID       string
	payload     []byte
}

// compress compresses what is worth it and gets smaller by it.
func (e *envelope) compress(c Compression, above int64) {
	if int64(len(e.payload)) < above || len(e.payload) == 0 {
		return
	}
	if smaller := c.Compress(e.payload); len(smaller) < len(e.payload) {
		e.compression, e.payload = c.ID, smaller
	}
}

// header writes all but the payload, with room for that.
func (e *envelope) header(room int) []byte {
	data := make([]byte, 0, headerSize+1+len(e.keyID)+room)
	data = append(data, magic...)
	data = append(data, version, e.compression, e.cipher)
	if e.cipher == 0 {
		return data
	}
	data = append(data, byte(len(e.keyID)))
	return append(data, e.keyID...)
}

var errShort = corrupt("its envelope is cut short")

// parse takes an envelope apart. The payload shares data's memory.
func parse(data []byte) (envelope, error) {
	switch known := min(len(data), len(magic)); {
	case len(data) == 0 || string(data[:known]) != magic[:known]:
		return envelope{}, corrupt("it has no envelope, so that it was not written under this store's compress and encrypt")
	case len(data) > len(magic) && data[len(magic)] != version:
		return envelope{}, corrupt("its envelope has version %d, and this program knows %d", data[len(magic)], version)
	case len(data) < headerSize:
		return envelope{}, errShort
	}
	e := envelope{compression: data[5], cipher: data[6], payload: data[headerSize:]}
	if e.cipher == 0 {
		return e, nil
	}
	if len(e.payload) < 1 || len(e.payload) < 1+int(e.payload[0]) {
		return envelope{}, errShort
	}
	end := 1 + int(e.payload[0])
	e.keyID, e.payload = string(e.payload[1:end]), e.payload[end:]
	if !isKeyID(e.keyID) {
		return envelope{}, corrupt("its envelope names no key")
	}
	return e, nil
}

// isKeyID keeps what an envelope can make an error say to harmless names.
func isKeyID(id string) bool {
	if id == "" || len(id) > maxKeyID {
		return false
	}
	for _, c := range []byte(id) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

func corrupt(reason string, args ...any) error {
	return fmt.Errorf("%w: "+reason, append([]any{wire.ErrCorrupt}, args...)...)
}
