package memory

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
)

// shards is into how many parts the index is cut. Listing holds one at a time.
const shards = 256

// An index lists the engine's keys in an order that pages can resume: by
// shard, and by name within it. It is changed under the engine's lock of the
// key, so that it holds exactly the keys that the engine holds.
type index struct {
	seed   maphash.Seed
	shards [shards]shard
}

type shard struct {
	mu sync.Mutex // guards below
	// places tells apart the entries that a key had without a pause between
	// them: the engine announces that an expired entry has left after it has
	// taken in its successor.
	places map[string]uint32
}

func newIndex() *index {
	x := &index{seed: maphash.MakeSeed()}
	for i := range x.shards {
		x.shards[i].places = make(map[string]uint32)
	}
	return x
}

func (x *index) shard(key string) *shard {
	return &x.shards[maphash.String(x.seed, key)%shards]
}

// add notes a key that the engine takes in, and returns its place.
func (x *index) add(key string) uint32 {
	s := x.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[key]++
	return s.places[key]
}

// remove forgets the key, unless its place has been taken by another entry.
func (x *index) remove(key string, place uint32) {
	s := x.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.places[key] == place {
		delete(s.places, key)
	}
}

// A cursor is where a page ended: behind key last of a shard.
type cursor struct {
	shard int
	last  string
}

func parseCursor(b []byte) (c cursor, ok bool) {
	if len(b) == 0 {
		return cursor{}, true
	}
	n, size := binary.Uvarint(b)
	if size <= 0 || n >= shards {
		return cursor{}, false
	}
	return cursor{int(n), string(b[size:])}, true
}

func (c cursor) bytes() []byte {
	if c.shard >= shards {
		return nil
	}
	return append(binary.AppendUvarint(nil, uint64(c.shard)), c.last...)
}

// page returns about limit keys that start with prefix, from c on, and where
// the next page starts.
func (x *index) page(c cursor, prefix string, limit int) (keys []string, next cursor) {
	for ; c.shard < shards; c = (cursor{shard: c.shard + 1}) {
		found := x.shards[c.shard].after(c.last, prefix)
		room := limit - len(keys)
		switch {
		case len(found) <= room:
			keys = append(keys, found...)
		case room == 0:
			return keys, c
		default:
			return append(keys, found[:room]...), cursor{c.shard, found[room-1]}
		}
	}
	return keys, c
}

// after returns the shard's keys behind last, sorted. No key is empty, so all
// are behind "".
func (s *shard) after(last, prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.places {
		if key > last && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
