package core

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"time"
)

// Entries whose freshness Remember's options have to know start with a header;
// all others are the codec's bytes alone. The first byte begins neither JSON,
// nor MessagePack, nor UTF-8; raw bytes that start like a header get one too
// when they are written, so that no bytes can be taken for what they aren't.
//
//	magic 4 | version 1 | kind 1 | written ms 8 | due ms 8 | took ms 4 | CRC-32C of the header 4 | the codec's bytes
const (
	headerMagic   = "\xC1CWR"
	headerVersion = 1
	headerSize    = 30
)

// What a header says of its entry.
const (
	kindPlain  = 0 // nothing: the bytes start like a header by chance
	kindValue  = 1 // a value with its freshness
	kindAbsent = 2 // no value: the resolver found nothing
)

// An envelope is an entry as Remember's options see it. Times are those of the
// host that wrote it, in whole milliseconds.
type envelope struct {
	kind    byte
	written time.Time     // zero: the entry has no header
	due     time.Time     // when its TTL ends; zero: never
	took    time.Duration // what resolving cost
	payload []byte
}

func (e envelope) past(now time.Time) bool { return !e.due.IsZero() && !now.Before(e.due) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func hasHeader(data []byte) bool {
	return len(data) >= len(headerMagic) && string(data[:len(headerMagic)]) == headerMagic
}

// sealed writes an envelope with the codec's bytes.
func (e envelope) sealed() []byte {
	data := make([]byte, 0, headerSize+len(e.payload))
	data = append(data, headerMagic...)
	data = append(data, headerVersion, e.kind)
	data = binary.BigEndian.AppendUint64(data, unixMilli(e.written))
	data = binary.BigEndian.AppendUint64(data, unixMilli(e.due))
	data = binary.BigEndian.AppendUint32(data, uint32(min(e.took.Milliseconds(), math.MaxUint32)))
	data = binary.BigEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
	return append(data, e.payload...)
}

// unsealed reads what is stored, with a header or without.
func unsealed(data []byte) (envelope, error) {
	if !hasHeader(data) {
		return envelope{payload: data}, nil
	}
	if len(data) < headerSize {
		return envelope{}, fmt.Errorf("%w: its freshness header is cut short", ErrCorrupt)
	}
	header, sum := data[:headerSize-4], binary.BigEndian.Uint32(data[headerSize-4:])
	if crc32.Checksum(header, castagnoli) != sum {
		return envelope{}, fmt.Errorf("%w: the checksum of its freshness header is wrong", ErrCorrupt)
	}
	if header[4] != headerVersion || header[5] > kindAbsent {
		return envelope{}, fmt.Errorf("%w: its freshness header has version %d and kind %d, and this program knows version %d", ErrCorrupt, header[4], header[5], headerVersion)
	}
	return envelope{
		kind:    header[5],
		written: fromUnixMilli(binary.BigEndian.Uint64(header[6:])),
		due:     fromUnixMilli(binary.BigEndian.Uint64(header[14:])),
		took:    time.Duration(binary.BigEndian.Uint32(header[22:])) * time.Millisecond,
		payload: data[headerSize:],
	}, nil
}

// escaped is how the codec's bytes are stored without freshness.
func escaped(data []byte) []byte {
	if !hasHeader(data) {
		return data
	}
	return envelope{kind: kindPlain, payload: data}.sealed()
}

// current is what a plain read sees of a stored entry: its value until its TTL
// ends, however long Remember keeps it; of an answer that nothing is there, a
// miss. due is Value's.
func current(data []byte, ok bool) (payload []byte, due int64, found bool, err error) {
	if !ok || !hasHeader(data) {
		return data, 0, ok, nil
	}
	e, err := unsealed(data)
	if err != nil || e.kind == kindAbsent || e.past(time.Now()) {
		return nil, 0, false, err
	}
	return e.payload, int64(unixMilli(e.due)), true, nil
}

func unixMilli(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixMilli())
}

func fromUnixMilli(ms uint64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms))
}

// dueAt is when an entry written now ends its TTL, a fraction of a millisecond
// later rather than earlier; zero is never.
func dueAt(now time.Time, ttl time.Duration) time.Time {
	due := now.Add(ttl)
	if ttl == Forever || due.Before(now) {
		return time.Time{}
	}
	return due.Truncate(time.Millisecond).Add(time.Millisecond)
}

// longer is ttl and more of it, Forever beyond what a Duration holds.
func longer(ttl, more time.Duration) time.Duration {
	if ttl > Forever-more {
		return Forever
	}
	return ttl + more
}
