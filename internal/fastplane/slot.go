package fastplane

import (
	"sync/atomic"
	"time"
)

// A phase is where a slot stands in its call.
type phase uint32

const (
	phaseFree      phase = iota
	phaseWaiting         // the caller waits
	phaseClaimed         // the reader is about to hand over the answer
	phaseDone            // the answer is there
	phaseAbandoned       // the caller has left; the slot is free once the answer has come
)

// How a caller waits: by the pulse's count of beats, until it is slow and watches
// its context.
const (
	patienceNone    = 0 // its context can't end the call, or nobody waits yet
	patienceNew     = 1
	patienceOneBeat = 2
	patienceOver    = 3
)

// inlineAnswer is how long an answer can be that needs no buffer of its own.
const inlineAnswer = 32

// A slot is a place for one call under way. Between waiting and done its fields
// belong to whoever reads the socket, else to the caller.
type slot struct {
	number     uint32
	generation uint32 // of its use; the reader compares it, under the slot's phase
	phase      atomic.Uint32
	deadline   atomic.Int64 // on the client's clock; 0 for none
	patience   atomic.Uint32
	poke       chan struct{}

	value  bool // the answer's body becomes the caller's
	status Status
	body   []byte
	small  [inlineAnswer]byte
	parts  *body       // of an answer that is not there completely
	err    error       // why there is no answer
	unsent atomic.Bool // the request got lost with the plane
}

func newSlot(number uint32) *slot { return &slot{number: number, poke: make(chan struct{}, 1)} }

func (s *slot) id() uint64 { return uint64(s.generation)<<32 | uint64(s.number) }

func (s *slot) is(p phase) bool { return phase(s.phase.Load()) == p }

func (s *slot) move(from, to phase) bool { return s.phase.CompareAndSwap(uint32(from), uint32(to)) }

// wake has the caller look at the slot.
func (s *slot) wake() {
	select {
	case s.poke <- struct{}{}:
	default: // it will look anyway
	}
}

// fill takes over an answer's body, which is valid only now.
func (s *slot) fill(status Status, b []byte) {
	s.status = status
	if len(b) <= len(s.small) && !(s.value && status == StatusYes) {
		s.body = append(s.small[:0], b...)
		return
	}
	body := make([]byte, len(b)) // in a local variable the compiler doesn't clear it
	copy(body, b)
	s.body = body
}

// begin starts the slot's next use. It is called with the client locked.
func (s *slot) begin(value bool, deadline time.Duration) {
	select {
	case <-s.poke:
	default:
	}
	s.generation++
	if s.deadline.Load() != int64(deadline) {
		s.deadline.Store(int64(deadline))
	}
	s.value = value
	s.phase.Store(uint32(phaseWaiting))
}

// takeParts takes over the body that came in parts.
func (s *slot) takeParts() {
	s.status, s.body = Status(s.parts.code), s.parts.bytes
}

// clear ends a use.
func (s *slot) clear() {
	s.phase.Store(uint32(phaseFree))
	if s.patience.Load() != 0 { // a store costs ten times a load
		s.patience.Store(0)
	}
	s.body, s.parts = nil, nil
}
