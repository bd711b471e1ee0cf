package servertest

import (
	"bytes"
	"sync"
)

// A Trap waits for a request and does something to its reply.
type Trap struct {
	match      []byte
	pass       int
	once, hold bool
	sprung     chan struct{}

	mu    sync.Mutex
	taken bool
	count int
}

// Sprung is closed when the trap has caught its first reply: the server has
// executed the request, and the client doesn't know.
func (t *Trap) Sprung() <-chan struct{} { return t.sprung }

// Count returns how many replies the trap has caught.
func (t *Trap) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// take says whether a matching request is the trap's.
func (t *Trap) take() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.once && t.taken {
		return false
	}
	t.taken = true
	return true
}

func (t *Trap) spring() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == 0 {
		close(t.sprung)
	}
	t.count++
}

// A scent remembers the end of a stream, so that a match is found that came in
// two pieces.
type scent struct{ tail []byte }

const longestMatch = 4 << 10

// trap returns the first trap that matches the stream up to and with chunk.
func (s *scent) trap(chunk []byte, traps []*Trap) *Trap {
	stream := append(s.tail, chunk...)
	defer func() { s.tail = bytes.Clone(stream[max(0, len(stream)-longestMatch):]) }()
	for _, trap := range traps {
		// Only what ends in this chunk is new.
		from := max(0, len(s.tail)-len(trap.match)+1)
		if bytes.Contains(stream[from:], trap.match) && trap.take() {
			return trap
		}
	}
	return nil
}
