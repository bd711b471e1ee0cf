package fastplane

import (
	"encoding/binary"

	"github.com/cachewright/cachewright/internal/wire"
)

// A cursor reads a body from its beginning. What isn't there reads as zero, and
// short is set.
type cursor struct {
	rest  []byte
	short bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.short, c.rest = true, nil
		return nil
	}
	taken := c.rest[:n:n]
	c.rest = c.rest[n:]
	return taken
}

func (c *cursor) all() []byte { return c.take(len(c.rest)) }

func (c *cursor) int() int64 {
	if b := c.take(8); b != nil {
		return int64(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (c *cursor) size() int {
	if b := c.take(4); b != nil {
		return int(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (c *cursor) byte() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) bool() bool { return c.byte() != 0 }

func (c *cursor) bytes() []byte { return c.take(c.size()) }

func (c *cursor) text() string { return string(c.bytes()) }

// count reads how many items follow that take at least least bytes each.
func (c *cursor) count(least int) int {
	n := c.size()
	if n < 0 || n > wire.MaxBatchKeys || n > len(c.rest)/least {
		c.short, c.rest = true, nil
		return 0
	}
	return n
}

func appendInt(b []byte, n int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(n)) }

func appendText(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

func appendBool(b []byte, yes bool) []byte {
	if yes {
		return append(b, 1)
	}
	return append(b, 0)
}
