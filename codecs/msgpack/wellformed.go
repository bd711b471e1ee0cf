package msgpack

import (
	"encoding/binary"
	"fmt"

	"github.com/cachewright/cachewright/core"
)

// maxDepth is how deeply values nest, as in encoding/json.
const maxDepth = 10_000

const (
	codeNil   = 0xc0
	codeUint8 = 0xcc
)

// wellFormed checks that data is one MessagePack value and nothing else, without
// recursion and without believing any length. What it lets pass, a decoder can
// read, if the type fits.
func wellFormed(data []byte) error {
	var first [32]uint64
	open := append(first[:0], 1) // values still to come, level by level
	for len(open) > 0 {
		top := len(open) - 1
		if open[top] == 0 {
			open = open[:top]
			continue
		}
		open[top]--
		size, inside, ok := head(data)
		switch {
		case !ok || uint64(len(data)) < size:
			return fmt.Errorf("%w: not valid MessagePack", core.ErrCorrupt)
		case inside > 0 && len(open) == maxDepth:
			return fmt.Errorf("%w: its MessagePack is nested too deeply", core.ErrCorrupt)
		case inside > 0:
			open = append(open, inside)
		}
		data = data[size:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%w: more follows the MessagePack value", core.ErrCorrupt)
	}
	return nil
}

// head reads the beginning of a value: its bytes, without those of the values
// inside it, and how many of those there are.
func head(data []byte) (size, inside uint64, ok bool) {
	if len(data) == 0 {
		return 0, 0, false
	}
	switch c := data[0]; {
	case c < 0x80, c >= 0xe0: // small integers
		return 1, 0, true
	case c < 0x90:
		return 1, 2 * uint64(c&0xf), true
	case c < 0xa0:
		return 1, uint64(c & 0xf), true
	case c < codeNil:
		return 1 + uint64(c&0x1f), 0, true
	default:
		return long(codes[c-codeNil], data[1:])
	}
}

// A code says how the bytes 0xc0 to 0xdf go on: a length of that many bytes,
// then fixed ones; the length counts bytes, or values of which it stands for
// each.
type code struct {
	length, fixed int
	each          uint64
	invalid       bool
}

var codes = [0x20]code{
	0x00: {}, 0x01: {invalid: true}, 0x02: {}, 0x03: {}, // nil, none, false, true
	0x04: {length: 1}, 0x05: {length: 2}, 0x06: {length: 4}, // bytes
	0x07: {length: 1, fixed: 1}, 0x08: {length: 2, fixed: 1}, 0x09: {length: 4, fixed: 1}, // extensions
	0x0a: {fixed: 4}, 0x0b: {fixed: 8}, // floats
	0x0c: {fixed: 1}, 0x0d: {fixed: 2}, 0x0e: {fixed: 4}, 0x0f: {fixed: 8}, // unsigned
	0x10: {fixed: 1}, 0x11: {fixed: 2}, 0x12: {fixed: 4}, 0x13: {fixed: 8}, // signed
	0x14: {fixed: 2}, 0x15: {fixed: 3}, 0x16: {fixed: 5}, 0x17: {fixed: 9}, 0x18: {fixed: 17}, // extensions of fixed size
	0x19: {length: 1}, 0x1a: {length: 2}, 0x1b: {length: 4}, // text
	0x1c: {length: 2, each: 1}, 0x1d: {length: 4, each: 1}, // arrays
	0x1e: {length: 2, each: 2}, 0x1f: {length: 4, each: 2}, // maps
}

func long(c code, rest []byte) (size, inside uint64, ok bool) {
	if c.invalid || len(rest) < c.length {
		return 0, 0, false
	}
	n := uint64(0)
	switch c.length {
	case 1:
		n = uint64(rest[0])
	case 2:
		n = uint64(binary.BigEndian.Uint16(rest))
	case 4:
		n = uint64(binary.BigEndian.Uint32(rest))
	}
	size = uint64(1 + c.length + c.fixed)
	if c.each > 0 {
		return size, n * c.each, true
	}
	return size + n, 0, true
}

// kind names what a value that begins with c is.
func kind(c byte) string {
	switch {
	case c < 0x80, c >= 0xe0, 0xcc <= c && c <= 0xd3:
		return "integer"
	case c < 0x90, c >= 0xde:
		return "map"
	case c < 0xa0, c == 0xdc, c == 0xdd:
		return "array"
	case c < 0xc0, c >= 0xd9:
		return "string"
	case c == codeNil:
		return "null"
	case c == 0xc2, c == 0xc3:
		return "boolean"
	case 0xc4 <= c && c <= 0xc6:
		return "binary"
	case c == 0xca, c == 0xcb:
		return "float"
	}
	return "extension"
}
