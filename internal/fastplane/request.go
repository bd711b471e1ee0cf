package fastplane

import (
	"encoding/binary"
	"time"
)

// An Op is an operation that the plane carries. Numbers are never reused.
type Op uint8

const (
	OpGet           Op = 1
	OpSet           Op = 2
	OpDelete        Op = 3
	OpAdd           Op = 4
	OpReplace       Op = 5
	OpPull          Op = 6
	OpIncrement     Op = 7
	OpCompareDelete Op = 8
	OpTTL           Op = 9
	OpTouch         Op = 10
	OpGetMany       Op = 11
	OpSetMany       Op = 12
	OpDeleteMany    Op = 13
	OpAcquireLease  Op = 14
	OpRenewLease    Op = 15
	OpReleaseLease  Op = 16
)

// A Request is one call. Which of the later fields count is the operation's
// matter. A decoded Value, and those of Entries, alias the body.
type Request struct {
	Op       Op
	Store    uint64
	Timeout  time.Duration // what is left to the caller; 0 for no limit
	Metadata string        // what the caller's context says to the driver

	Key     string
	Value   []byte
	TTL     time.Duration // a lease's length too
	Delta   int64
	Keys    []string
	Entries []Entry
	Lease   Lease
}

// An Entry is one write of a batch.
type Entry struct {
	Key   string
	Value []byte
	TTL   time.Duration
}

// A Lease is what a lease request says beside key and length.
type Lease struct {
	Strategy    string
	Owner       string
	DriverClock bool
}

// appendRequest appends the body of r, but for the last bytes, which are the
// value: that of a large one is not copied twice.
func appendRequest(b []byte, r *Request) []byte {
	b = binary.LittleEndian.AppendUint64(b, r.Store)
	b = appendInt(b, int64(r.Timeout))
	b = appendText(b, r.Metadata)
	switch r.Op {
	case OpGet, OpDelete, OpPull, OpTTL:
		return append(b, r.Key...)
	case OpTouch:
		return append(appendInt(b, int64(r.TTL)), r.Key...)
	case OpSet, OpAdd, OpReplace:
		return appendText(appendInt(b, int64(r.TTL)), r.Key)
	case OpCompareDelete:
		return appendText(b, r.Key)
	case OpIncrement:
		return append(appendInt(appendInt(b, r.Delta), int64(r.TTL)), r.Key...)
	case OpGetMany, OpDeleteMany:
		return appendKeys(b, r.Keys)
	case OpSetMany:
		return appendEntries(b, r.Entries)
	case OpAcquireLease, OpRenewLease, OpReleaseLease:
		b = appendBool(appendInt(b, int64(r.TTL)), r.Lease.DriverClock)
		return append(appendText(appendText(b, r.Lease.Strategy), r.Lease.Owner), r.Key...)
	}
	panic("fastplane: unknown operation")
}

// requestSize is how long the body of r is, without its value.
func requestSize(r *Request) int {
	const fixed = 8 + 8 + 4
	n := fixed + len(r.Metadata) + len(r.Key)
	switch r.Op {
	case OpTouch:
		n += 8
	case OpSet, OpAdd, OpReplace:
		n += 8 + 4
	case OpCompareDelete:
		n += 4
	case OpIncrement:
		n += 8 + 8
	case OpGetMany, OpDeleteMany:
		n += 4
		for _, key := range r.Keys {
			n += 4 + len(key)
		}
	case OpSetMany:
		n += 4
		for i := range r.Entries {
			n += 8 + 4 + len(r.Entries[i].Key) + 4 + len(r.Entries[i].Value)
		}
	case OpAcquireLease, OpRenewLease, OpReleaseLease:
		n += 8 + 1 + 4 + len(r.Lease.Strategy) + 4 + len(r.Lease.Owner)
	}
	return n
}

// parseRequest is the inverse of appendRequest with the value behind it.
func parseRequest(op Op, b []byte) (r Request, err error) {
	c := cursor{rest: b}
	r = Request{Op: op, Store: uint64(c.int()), Timeout: time.Duration(c.int()), Metadata: c.text()}
	switch op {
	case OpGet, OpDelete, OpPull, OpTTL:
		r.Key = string(c.all())
	case OpTouch:
		r.TTL, r.Key = time.Duration(c.int()), string(c.all())
	case OpSet, OpAdd, OpReplace:
		r.TTL, r.Key, r.Value = time.Duration(c.int()), c.text(), c.all()
	case OpCompareDelete:
		r.Key, r.Value = c.text(), c.all()
	case OpIncrement:
		r.Delta, r.TTL, r.Key = c.int(), time.Duration(c.int()), string(c.all())
	case OpGetMany, OpDeleteMany:
		r.Keys = c.keys()
	case OpSetMany:
		r.Entries = c.entries()
	case OpAcquireLease, OpRenewLease, OpReleaseLease:
		r.TTL, r.Lease.DriverClock = time.Duration(c.int()), c.bool()
		r.Lease.Strategy, r.Lease.Owner, r.Key = c.text(), c.text(), string(c.all())
	default:
		return r, broken("an unknown operation %d", op)
	}
	if c.short || len(c.rest) > 0 {
		return r, broken("a request %d of %d bytes that can't be read", op, len(b))
	}
	return r, nil
}

func appendKeys(b []byte, keys []string) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(keys)))
	for _, key := range keys {
		b = appendText(b, key)
	}
	return b
}

func appendEntries(b []byte, entries []Entry) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(entries)))
	for i := range entries {
		e := &entries[i]
		b = appendInt(b, int64(e.TTL))
		b = appendText(b, e.Key)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(e.Value)))
		b = append(b, e.Value...)
	}
	return b
}

func (c *cursor) keys() []string {
	n := c.count(4)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = c.text()
	}
	return keys
}

func (c *cursor) entries() []Entry {
	n := c.count(8 + 4 + 4)
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{TTL: time.Duration(c.int()), Key: c.text(), Value: c.bytes()}
	}
	return entries
}
