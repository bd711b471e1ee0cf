package fastplane

import (
	"errors"
	"sync/atomic"
	"time"
)

// briefCall is how long a call may take for which others would have to wait.
const briefCall = 100 * time.Microsecond

// idleCall is how long a call takes that waits for something, and so lets the
// processor go.
const idleCall = 15 * time.Microsecond

// errPassed is why a goroutine stops reading a plane that goes on.
var errPassed = errors.New("another goroutine reads now")

// A turn is whose it is to read a server's socket: of one goroutine, which keeps
// it while it makes a brief call, and loses it to another if the call is not.
type turn struct {
	call  atomic.Uint64 // 2n while nobody makes a call alone, 2n+1 during the nth
	seen  atomic.Uint64 // what call was at the last beat
	pulse pulse
	ended chan error // how the reading has ended
}

// makeAlone makes the only call under way on the reading goroutine: a goroutine
// of its own may mean to wake a core, which takes longer than most calls. It is
// false if another goroutine reads now.
func (s *Server) makeAlone(j *job) bool {
	s.running.Add(1)
	defer s.running.Done()
	s.active.Add(1)
	defer s.active.Add(-1)
	call := s.turn.call.Add(1)
	s.turn.pulse.beat()
	start := time.Now()
	a := s.handler.Handle(j.ctx, &j.request)
	if !s.turn.call.CompareAndSwap(call, call+1) {
		s.answer(j, &a)
		return false
	}
	s.learn(time.Since(start))
	s.forget(j)
	s.add(j.id, j.request.Op, &a)
	s.flush()
	return true
}

// learn tells how a call that was made alone went: whether others had to wait
// for it, or might have.
func (s *Server) learn(took time.Duration) {
	if took > idleCall {
		s.spin.rested()
	}
	s.ahead = s.in.poll()
	if took < briefCall && !s.ahead {
		s.alone.won()
	} else {
		s.alone.lost()
	}
}

// onBeat has another goroutine read if a call that is made alone was under way
// at the last beat already.
func (s *Server) onBeat() {
	s.turn.pulse.beating.Store(false) // who comes from here on keeps it going
	call := s.turn.call.Load()
	if call%2 == 0 {
		return
	}
	if s.turn.seen.Swap(call) != call {
		s.turn.pulse.beat()
		return
	}
	if s.turn.call.CompareAndSwap(call, call+1) {
		go s.relieve()
	}
}

// relieve reads instead of a goroutine that is busy with a call.
func (s *Server) relieve() {
	s.alone.lost()
	s.readOn()
}
