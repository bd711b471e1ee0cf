package fastplane

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cachewright/cachewright/internal/wire"
)

// Version is the version of the frame format. A host offers the one it speaks,
// a driver says that it serves it, or says nothing.
const Version = "1"

const (
	// Slots is how many calls can be under way on one plane.
	Slots = 1024

	headerSize = 16
	// maxPart is the most that one frame carries of a body. A larger body is
	// cut, so that frames of other calls come in between.
	maxPart  = 64 << 10
	maxFrame = headerSize + sizeSize + maxPart
	// maxBody is the largest body: the largest value, its key, and what else a
	// request says; or a batch, which is smaller.
	maxBody  = wire.MaxFrame
	sizeSize = 4 // of the size of a body that is cut
)

// A kind says what a frame is.
type kind uint8

const (
	kindRequest kind = 1 // the beginning of a request
	kindAnswer  kind = 2 // the beginning of an answer
	kindMore    kind = 3 // the next part of a body
	kindCancel  kind = 4 // the host no longer wants the answer; there will be one all the same
)

// flagCut marks the beginning of a body that is continued: its size in all
// stands before it.
const flagCut = 1

// errProtocol is what a peer is told, and said to have done, that sends what
// this package doesn't.
var errProtocol = errors.New("the other end broke the protocol of the fast plane")

// A frame is a header and a part of a body.
type frame struct {
	kind kind
	code uint8 // a request's Op, an answer's Status
	id   uint64
	size int    // of the whole body, at its beginning
	part []byte // valid until the inbox reads on
}

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errProtocol, fmt.Sprintf(format, args...))
}

// appendHeader appends the header of a frame that carries n bytes of a body.
// Where they are less than size, the body is cut.
func appendHeader(b []byte, k kind, code uint8, id uint64, n, size int) []byte {
	flags, extra := uint16(0), 0
	cut := k != kindMore && n < size
	if cut {
		flags, extra = flagCut, sizeSize
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(headerSize-4+extra+n))
	b = append(b, byte(k), code)
	b = binary.LittleEndian.AppendUint16(b, flags)
	b = binary.LittleEndian.AppendUint64(b, id)
	if cut {
		b = binary.LittleEndian.AppendUint32(b, uint32(size))
	}
	return b
}

// appendWhole appends a frame with all of a body, which add appends.
func appendWhole(b []byte, k kind, code uint8, id uint64, add func([]byte) []byte) []byte {
	start := len(b)
	b = add(appendHeader(b, k, code, id, 0, 0))
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// parseFrame reads the frame at the beginning of b, and says how long it is; 0
// if b doesn't hold all of it.
func parseFrame(b []byte) (f frame, length int, err error) {
	if len(b) < headerSize {
		return f, 0, nil
	}
	length = 4 + int(binary.LittleEndian.Uint32(b))
	if length < headerSize || length > maxFrame {
		return f, 0, broken("a frame of %d bytes", length)
	}
	if len(b) < length {
		return f, 0, nil
	}
	f = frame{kind: kind(b[4]), code: b[5], id: binary.LittleEndian.Uint64(b[8:]), part: b[headerSize:length:length]}
	flags := binary.LittleEndian.Uint16(b[6:])
	if f.kind < kindRequest || f.kind > kindCancel || flags&^flagCut != 0 {
		return f, 0, broken("a frame of kind %d with flags %#x", f.kind, flags)
	}
	f.size = len(f.part)
	if flags&flagCut == 0 {
		return f, length, nil
	}
	if len(f.part) < sizeSize || f.kind == kindMore || f.kind == kindCancel {
		return f, 0, broken("a frame of kind %d can't begin a body in parts", f.kind)
	}
	f.size = int(binary.LittleEndian.Uint32(f.part))
	f.part = f.part[sizeSize:]
	if f.size > maxBody || f.size <= len(f.part) {
		return f, 0, broken("a body of %d bytes, of which %d come first", f.size, len(f.part))
	}
	return f, length, nil
}

// A body is one that comes in parts.
type body struct {
	id    uint64
	code  uint8
	bytes []byte // what has come
	size  int
}

// add appends the next part, and says whether that was the last.
func (b *body) add(part []byte) (whole bool, err error) {
	if len(part) == 0 || len(b.bytes)+len(part) > b.size {
		return false, broken("a part of %d bytes after %d of %d", len(part), len(b.bytes), b.size)
	}
	if need := len(b.bytes) + len(part); need > cap(b.bytes) {
		grown := make([]byte, len(b.bytes), min(b.size, max(need, 2*cap(b.bytes))))
		copy(grown, b.bytes)
		b.bytes = grown
	}
	b.bytes = append(b.bytes, part...)
	return len(b.bytes) == b.size, nil
}

// promised is how much room a body gets before it has come: what a peer merely
// announces costs no more.
const promised = 1 << 20

// begin starts a body with the first of its parts.
func begin(f frame) *body {
	b := &body{id: f.id, code: f.code, size: f.size, bytes: make([]byte, 0, max(len(f.part), min(f.size, promised)))}
	b.bytes = append(b.bytes, f.part...)
	return b
}
