package file

import (
	"encoding/binary"
	"fmt"

	"github.com/cachewright/cachewright/sdk"
	"github.com/cespare/xxhash/v2"
)

// An entry file, version 1, little-endian:
//
//	 0  4  magic
//	 4  1  version of this format
//	 5  1  flags, none defined
//	 6  2  length k of the key
//	 8  8  deadline in ms of Unix time, 0: none
//	16  8  length of the value
//	24  8  XXH64 of the value
//	32  k  key
//	32+k 8 XXH64 of everything before
//	40+k   value, to the end of the file
const (
	magic         = "\x89CWF"
	formatVersion = 1
	beforeKey     = 32
	aroundKey     = beforeKey + 8
	maxKey        = 1024
	suffixRoom    = 64 // what a lock strategy may append to a key
	maxHeader     = aroundKey + maxKey + suffixRoom
	maxValue      = 1 << 60 // more is no length
)

// A header says of an entry all but its value.
type header struct {
	deadline  int64  // ms of Unix time, 0: none
	key       []byte // shares the memory that it was parsed from
	valueSize int64
	valueSum  uint64
}

func (h header) size() int { return aroundKey + len(h.key) }

// fileSize is how long the entry's file must be.
func (h header) fileSize() int64 { return int64(h.size()) + h.valueSize }

// appendHeader appends the header of an entry to b.
func appendHeader(b []byte, key string, deadline int64, value []byte) []byte {
	start := len(b)
	b = append(b, magic...)
	b = append(b, formatVersion, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(key)))
	b = binary.LittleEndian.AppendUint64(b, uint64(deadline))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(value)))
	b = binary.LittleEndian.AppendUint64(b, xxhash.Sum64(value))
	b = append(b, key...)
	return binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b[start:]))
}

// parseHeader reads the header that b starts with. Its errors match
// sdk.ErrCorrupt.
func parseHeader(b []byte) (header, error) {
	if len(b) == 0 {
		return header{}, unreadable("the file is empty")
	}
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return header{}, unreadable("no entry of a cachewright store")
	}
	if len(b) < beforeKey {
		return header{}, unreadable("the header is cut short")
	}
	if b[4] != formatVersion || b[5] != 0 {
		return header{}, unreadable(fmt.Sprintf("written in format %d with flags %d, of which this version knows nothing", b[4], b[5]))
	}
	end := beforeKey + int(binary.LittleEndian.Uint16(b[6:]))
	if end > beforeKey+maxKey+suffixRoom {
		return header{}, unreadable("the header is damaged")
	}
	if len(b) < end+8 {
		return header{}, unreadable("the header is cut short")
	}
	h := header{
		deadline:  int64(binary.LittleEndian.Uint64(b[8:])),
		key:       b[beforeKey:end],
		valueSize: int64(binary.LittleEndian.Uint64(b[16:])),
		valueSum:  binary.LittleEndian.Uint64(b[24:]),
	}
	if binary.LittleEndian.Uint64(b[end:]) != xxhash.Sum64(b[:end]) || h.deadline < 0 || h.valueSize < 0 || h.valueSize > maxValue {
		return header{}, unreadable("the header is damaged")
	}
	return h, nil
}

func unreadable(reason string) error { return fmt.Errorf("%w: %s", sdk.ErrCorrupt, reason) }
