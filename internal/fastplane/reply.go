package fastplane

// flush sends the answers of the reading goroutine.
func (s *Server) flush() {
	if s.unsent {
		s.unsent = false
		s.out.flush(false)
	}
}

// answer ends a call with a write of its own.
func (s *Server) answer(j *job, a *Answer) {
	s.forget(j)
	s.sendAnswer(j.id, j.request.Op, a)
}

// answerAll ends calls with one write.
func (s *Server) answerAll(group []*job, answers []Answer) {
	flush := false
	for i, j := range group {
		s.forget(j)
		if first, large := s.tryAdd(j.id, j.request.Op, &answers[i]); !large {
			flush = flush || first
			continue
		}
		if flush {
			s.out.flush(false)
			flush = false
		}
		s.sendAnswer(j.id, j.request.Op, &answers[i])
	}
	if flush {
		s.out.flush(false)
	}
}

func (s *Server) forget(j *job) {
	j.ctx.End()
	s.jobs[uint32(j.id)].Store(nil)
}

// add adds an answer of the reading goroutine, which never waits for room.
func (s *Server) add(id uint64, op Op, a *Answer) {
	flush, large := s.tryAdd(id, op, a)
	s.unsent = s.unsent || flush
	if large {
		s.addLater(id, op, *a)
	}
}

func (s *Server) addLater(id uint64, op Op, a Answer) {
	s.running.Go(func() { s.sendAnswer(id, op, &a) })
}

// tryAdd adds an answer that fits one frame.
func (s *Server) tryAdd(id uint64, op Op, a *Answer) (flush, large bool) {
	if answerSize(op, a) > maxPart {
		return false, true
	}
	flush, _ = s.out.add(s.base, unlimited, func(b []byte) []byte {
		return appendWhole(b, kindAnswer, uint8(a.Status), id, func(b []byte) []byte {
			return append(appendAnswer(b, op, a), a.Value...)
		})
	})
	return flush, false
}

// sendAnswer adds an answer of any size, and flushes.
func (s *Server) sendAnswer(id uint64, op Op, a *Answer) {
	flush, large := s.tryAdd(id, op, a)
	if flush {
		s.out.flush(true)
	}
	if large {
		m := message{kind: kindAnswer, code: uint8(a.Status), id: id, tail: a.Value}
		m.head = appendAnswer(make([]byte, 0, answerSize(op, a)-len(a.Value)), op, a)
		_, _ = s.out.send(s.base, m, true) // fails where the host is gone
	}
}
