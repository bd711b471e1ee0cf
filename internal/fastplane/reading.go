package fastplane

import (
	"context"
	"fmt"
)

// readOn reads until the plane ends, which it does with the goroutine too, or
// another goroutine has come to read instead.
func (s *Server) readOn() {
	err := errEnded
	defer func() {
		if err == errPassed {
			return
		}
		_ = s.socket.Close() // a second Close is harmless
		s.end()
		select {
		case s.turn.ended <- err:
		default: // Serve knows already
		}
	}()
	err = s.read()
}

func (s *Server) read() error {
	for {
		if err := s.fill(); err != nil {
			return err
		}
		if err := s.takeAll(); err != nil {
			return err
		}
		s.flush()
		if !s.makeWaiting() {
			return errPassed
		}
	}
}

// fill reads once, and polls for a moment before if that pays.
func (s *Server) fill() error {
	if s.ahead {
		s.ahead = false
		return nil
	}
	if s.active.Load() == 0 && s.poll() {
		return nil
	}
	return s.in.fill()
}

// poll polls for a moment, if that pays.
func (s *Server) poll() bool {
	if !s.spin.begin() {
		return false
	}
	defer s.spin.end()
	for n := range spinPolls {
		s.spin.pause(n)
		if s.in.poll() {
			s.spin.won()
			return true
		}
	}
	s.spin.lost()
	return false
}

func (s *Server) takeAll() error {
	for {
		f, ok, err := s.in.next()
		if err != nil || !ok {
			return err
		}
		if err := s.take(f); err != nil {
			return err
		}
	}
}

func (s *Server) take(f frame) error {
	n := uint32(f.id)
	if n >= Slots {
		return broken("a frame for slot %d", n)
	}
	switch f.kind {
	case kindRequest:
		if s.jobs[n].Load() != nil || s.parts[n] != nil {
			return broken("a second request in slot %d", n)
		}
		if f.size > len(f.part) {
			s.parts[n] = begin(f)
			return nil
		}
		return s.start(f.id, Op(f.code), f.part, true)
	case kindMore:
		return s.goOn(f, n)
	case kindCancel:
		s.cancel(f.id, n)
		return nil
	}
	return broken("a frame of kind %d from a host", f.kind)
}

func (s *Server) goOn(f frame, n uint32) error {
	b := s.parts[n]
	if b == nil || b.id != f.id {
		return broken("a part of nothing in slot %d", n)
	}
	whole, err := b.add(f.part)
	if err != nil || !whole {
		return err
	}
	s.parts[n] = nil
	return s.start(f.id, Op(b.code), b.bytes, false)
}

// cancel ends a call that nobody waits for any more. Its answer goes out all
// the same, since it frees the slot.
func (s *Server) cancel(id uint64, n uint32) {
	if b := s.parts[n]; b != nil && b.id == id { // not a late word about the slot's last call
		op := Op(b.code)
		s.parts[n] = nil
		var a Answer
		a.Fail(fmt.Errorf("%w: before all of the request was there", context.Canceled))
		s.add(id, op, &a)
		return
	}
	if j := s.jobs[n].Load(); j != nil && j.id == id {
		j.cancel()
	}
}
