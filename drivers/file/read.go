package file

import (
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/cespare/xxhash/v2"
	"golang.org/x/sys/unix"
)

// firstRead is how much of a file the first read asks for. Most entries are
// smaller, and then it is the only one.
const firstRead = 16 << 10

var buffers = sync.Pool{New: func() any { return new([firstRead]byte) }}

// An item is an entry as it was read.
type item struct {
	key      string // only from readHead
	value    []byte // only from readItem
	deadline int64  // ms of Unix time, 0: none
	expired  bool   // when it was read
}

func newItem(h header) item {
	now := time.Now()
	return item{deadline: h.deadline, expired: h.deadline != 0 && !now.Before(time.UnixMilli(h.deadline))}
}

// readItem reads the entry of key from the start of fd. An expired one comes
// without its value. What can't be read as this entry is sdk.ErrCorrupt.
func readItem(fd int, key string) (item, error) {
	buf := buffers.Get().(*[firstRead]byte)
	defer buffers.Put(buf)
	h, got, err := readHeader(fd, buf[:])
	if err != nil {
		return item{}, err
	}
	if string(h.key) != key {
		return item{}, unreadable("it holds another key")
	}
	it := newItem(h)
	if it.expired {
		return it, nil
	}
	if err := checkSize(fd, h, len(got), len(buf)); err != nil {
		return item{}, err
	}
	it.value, err = readValue(fd, h, got[h.size():])
	return it, err
}

// readHead reads an entry but for its value, and checks that the value has its
// length.
func readHead(fd int) (item, error) {
	buf := buffers.Get().(*[firstRead]byte)
	defer buffers.Put(buf)
	h, got, err := readHeader(fd, buf[:maxHeader])
	if err != nil {
		return item{}, err
	}
	it := newItem(h)
	it.key = string(h.key)
	return it, checkSize(fd, h, len(got), maxHeader)
}

// readHeader reads the start of a file into buf and returns the header there,
// and what it read.
func readHeader(fd int, buf []byte) (h header, got []byte, err error) {
	n, err := read(fd, buf)
	switch err {
	case nil:
		h, err = parseHeader(buf[:n])
		return h, buf[:n], err
	case unix.EISDIR, unix.EAGAIN, unix.EINVAL:
		return header{}, nil, unreadable("no regular file")
	}
	return header{}, nil, err
}

// checkSize compares the length of the file with what its header says. A first
// read that ended before asked saw the whole file.
func checkSize(fd int, h header, got, asked int) error {
	size := int64(got)
	if got == asked {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		size = st.Size
	}
	if size < h.fileSize() {
		return unreadable("the value is cut short")
	}
	if size > h.fileSize() {
		return unreadable("something follows the value")
	}
	return nil
}

// readValue returns the value, of which start was read already, in memory of
// its own.
func readValue(fd int, h header, start []byte) ([]byte, error) {
	value := make([]byte, h.valueSize)
	for got := copy(value, start); got < len(value); {
		n, err := read(fd, value[got:])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, unreadable("the value is cut short")
		}
		got += n
	}
	if xxhash.Sum64(value) != h.valueSum {
		return nil, unreadable("the value is damaged")
	}
	return value, nil
}

// deadlineAfter is when an entry that is stored now for ttl expires, in ms of
// Unix time, rounded up.
func deadlineAfter(ttl time.Duration) int64 {
	if ttl == sdk.NoExpiry {
		return 0
	}
	const step = int64(time.Millisecond)
	now := time.Now()
	whole, rest := int64(ttl)/step, int64(ttl)%step
	return now.UnixMilli() + whole + (int64(now.Nanosecond())%step+rest+step-1)/step
}

// remaining is how long the entry has to live, in whole milliseconds and at
// least one, so that it is never more than was given; sdk.NoExpiry if for ever.
// ok is false if its time came since it was read.
func (it item) remaining(now time.Time) (ttl time.Duration, ok bool) {
	if it.deadline == 0 {
		return sdk.NoExpiry, true
	}
	ttl = time.UnixMilli(it.deadline).Sub(now) // saturates
	if ttl <= 0 {
		return 0, false
	}
	return max(ttl.Truncate(time.Millisecond), time.Millisecond), true
}
