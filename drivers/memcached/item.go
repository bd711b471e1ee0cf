package memcached

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/cespare/xxhash/v2"
)

// An item, version 1, little-endian:
//
//	 0  4  magic
//	 4  1  version of this format
//	 5  1  flags: isLease or none
//	 6  2  length k of the key
//	 8  8  XXH64 of all that follows
//	16  8  deadline in ms of Unix time, 0: none
//	24  k  key
//	24+k   value
const (
	magic         = "\x89CWM"
	formatVersion = 1
	summedFrom    = 16
	beforeKey     = 24

	plain   = 0
	isLease = 1
)

// appendItem appends an item to b.
func appendItem(b []byte, flags byte, key string, deadline int64, value []byte) []byte {
	start := len(b)
	b = append(b, magic...)
	b = append(b, formatVersion, flags)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(key)))
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(deadline))
	b = append(b, key...)
	b = append(b, value...)
	binary.LittleEndian.PutUint64(b[start+8:], xxhash.Sum64(b[start+summedFrom:]))
	return b
}

// newItem makes an item in memory of its own.
func newItem(flags byte, key string, deadline int64, value []byte) []byte {
	return appendItem(make([]byte, 0, beforeKey+len(key)+len(value)), flags, key, deadline, value)
}

// parseItem reads an item that key has in the space that the flags say. The
// value shares b's memory. Its errors match sdk.ErrCorrupt.
func parseItem(b []byte, flags byte, key string) (deadline int64, value []byte, err error) {
	if len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return 0, nil, unreadable("no item of a cachewright store")
	}
	if len(b) < beforeKey {
		return 0, nil, unreadable("the header is cut short")
	}
	if b[4] != formatVersion || b[5] != flags {
		return 0, nil, unreadable(fmt.Sprintf("format %d with flags %d, where version %s reads format %d with flags %d", b[4], b[5], version, formatVersion, flags))
	}
	end := beforeKey + int(binary.LittleEndian.Uint16(b[6:]))
	deadline = int64(binary.LittleEndian.Uint64(b[16:]))
	if len(b) < end || binary.LittleEndian.Uint64(b[8:]) != xxhash.Sum64(b[summedFrom:]) || deadline < 0 {
		return 0, nil, unreadable("the item is damaged")
	}
	if string(b[beforeKey:end]) != key {
		return 0, nil, unreadable("the item is another key's")
	}
	return deadline, b[end:len(b):len(b)], nil
}

func unreadable(reason string) error {
	return fmt.Errorf("%w: %s", sdk.ErrCorrupt, reason)
}

// deadlineAfter is when an entry that is stored now ends, in ms, rounded up.
// It counts in two parts, since the longest duration and the time don't fit
// one number.
func deadlineAfter(now time.Time, ttl time.Duration) int64 {
	if ttl == sdk.NoExpiry {
		return 0
	}
	const ms = int64(time.Millisecond)
	n := now.UnixNano()
	return n/ms + int64(ttl)/ms + (n%ms+int64(ttl)%ms+ms-1)/ms
}

// lives tells whether an entry with the deadline is still there.
func lives(deadline int64, now time.Time) bool { return deadline == 0 || now.UnixMilli() < deadline }

// remaining is how long a live entry will live, at least a millisecond.
func remaining(deadline int64, now time.Time) time.Duration {
	if deadline == 0 {
		return sdk.NoExpiry
	}
	left := deadline - now.Add(time.Millisecond-1).UnixMilli() // rounded down, as the deadline was up
	if left > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(max(left, 1)) * time.Millisecond
}
