package fastplane

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/internal/lazyctx"
	"github.com/cachewright/cachewright/internal/wire"
)

// A job is a call under way.
type job struct {
	id      uint64
	request Request
	joins   bool // calls of its kind are made together
	ctx     *lazyctx.Context
	cancel  func()
}

// start makes a call, or has it made. A body that is borrowed is valid until
// the next read.
func (s *Server) start(id uint64, op Op, b []byte, borrowed bool) error {
	if len(b) < 8 {
		return broken("a request %d of %d bytes", op, len(b))
	}
	manner := s.handler.Manner(binary.LittleEndian.Uint64(b), op)
	if borrowed && manner != Inline {
		b = bytes.Clone(b)
	}
	r, err := parseRequest(op, b)
	if err != nil {
		return err
	}
	if manner == Inline {
		s.makeInline(id, r)
		return nil
	}
	j := &job{id: id, request: r, joins: manner == Together, ctx: lazyctx.WithTimeout(s.base, timeFor(r.Timeout))}
	s.admit(j)
	s.waiting = append(s.waiting, j)
	return nil
}

// makeInline makes a call that never waits: nobody can end it, and no clock is
// asked for it.
func (s *Server) makeInline(id uint64, r Request) {
	s.inline = r
	a := s.handler.Handle(s.base, &s.inline)
	s.inline = Request{}
	s.add(id, r.Op, &a)
	if s.made++; s.made%flushEvery == 0 {
		s.flush()
	}
}

// flushEvery is how many calls are made inline before their answers go out: the
// host works on them while this process makes the next.
const flushEvery = 32

// headStart is the most by which a call ends before its caller does.
const headStart = 20 * time.Millisecond

// timeFor is how long a call may take whose caller waits for left: a little
// less, so that what the store has to say of it arrives in time.
func timeFor(left time.Duration) time.Duration {
	if left <= 0 {
		return wire.DefaultDeadline
	}
	return left - min(left/20, headStart)
}

func (s *Server) admit(j *job) {
	j.cancel = j.ctx.End
	s.jobs[uint32(j.id)].Store(j)
}

// aside has a goroutine make jobs.
func (s *Server) aside(jobs []*job, do func()) {
	s.active.Add(1)
	s.running.Go(func() {
		defer s.active.Add(-1)
		returned := false
		defer func() {
			if !returned {
				s.answerEnded(jobs)
			}
		}()
		do()
		returned = true
	})
}

// errEnded is what becomes of a call whose handler ended the goroutine.
var errEnded = fmt.Errorf("%w: the code of the driver ended the goroutine of the call (runtime.Goexit)", wire.ErrInternal)

func (s *Server) answerEnded(jobs []*job) {
	for _, j := range jobs {
		var a Answer
		a.Fail(errEnded)
		s.answer(j, &a)
	}
}

func (s *Server) makeApart(j *job) {
	s.aside([]*job{j}, func() {
		a := s.handler.Handle(j.ctx, &j.request)
		s.answer(j, &a)
	})
}

// makeWaiting makes the calls of one read. It is false if this goroutine has no
// more to read afterwards.
func (s *Server) makeWaiting() bool {
	if len(s.waiting) == 1 && s.active.Load() == 0 && s.alone.take() {
		j := s.waiting[0]
		s.waiting[0], s.waiting = nil, s.waiting[:0]
		return s.makeAlone(j)
	}
	for len(s.waiting) > 0 {
		group := s.nextGroup()
		if len(group) == 1 {
			s.makeApart(group[0])
			continue
		}
		s.makeGroup(group)
	}
	return true
}

// nextGroup takes the first waiting call and those that it can be made with.
func (s *Server) nextGroup() []*job {
	first := s.waiting[0]
	group := make([]*job, 0, len(s.waiting))
	rest := s.waiting[:0]
	for _, j := range s.waiting {
		if j == first || first.joins && j.joins && first.like(j) {
			group = append(group, j)
		} else {
			rest = append(rest, j)
		}
	}
	clear(s.waiting[len(rest):])
	s.waiting = rest
	return group
}

func (j *job) like(other *job) bool {
	a, b := &j.request, &other.request
	return a.Op == b.Op && a.Store == b.Store && a.Metadata == b.Metadata
}

// makeGroup gives the calls one context: it ends when the last of them would
// have to, or none is wanted any more.
func (s *Server) makeGroup(group []*job) {
	longest := group[0].ctx.Timeout()
	for _, j := range group {
		longest = max(longest, j.ctx.Timeout())
	}
	ctx := lazyctx.WithTimeout(s.base, longest)
	wanted := new(atomic.Int32)
	wanted.Store(int32(len(group)))
	for _, j := range group {
		j.cancel = sync.OnceFunc(func() {
			if wanted.Add(-1) == 0 {
				ctx.End()
			}
		})
	}
	s.aside(group, func() {
		defer ctx.End()
		requests := make([]*Request, len(group))
		for i, j := range group {
			requests[i] = &j.request
		}
		answers := s.handler.Together(ctx, requests)
		s.answerAll(group, answers)
	})
}
