package fastplane

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cachewright/cachewright/internal/lazyctx"
	"github.com/cachewright/cachewright/internal/wire"
)

// A Manner says how a call is made.
type Manner int

const (
	// Apart gives the call a goroutine.
	Apart Manner = iota
	// Inline makes it at once, between two frames: it never waits, and its context
	// ends with the plane only.
	Inline
	// Together makes one call of all those that one read brought.
	Together
)

// A Handler makes the calls of a Server. Its methods are called concurrently,
// and never panic.
type Handler interface {
	Manner(store uint64, op Op) Manner
	// Handle makes one call. A Value of r is valid until it returns.
	Handle(ctx context.Context, r *Request) Answer
	// Together makes calls of one operation on one store, and answers each.
	Together(ctx context.Context, rs []*Request) []Answer
}

// A Server is the driver's end of a plane.
type Server struct {
	socket  *net.UnixConn
	handler Handler
	out     *outbox
	in      *inbox

	jobs    [Slots]atomic.Pointer[job]
	parts   [Slots]*body // of requests that are not there completely
	waiting []*job       // for others to be made together with
	inline  Request      // the one that is being made
	made    int          // inline
	unsent  bool         // answers are in the outbox that this goroutine has to flush
	running sync.WaitGroup

	base context.Context
	end  context.CancelFunc
}

// A job is a call under way.
type job struct {
	id      uint64
	request Request
	ctx     *lazyctx.Context
	cancel  func()
}

// NewServer makes a server of the driver's end of a socket pair, and owns it.
func NewServer(socket *net.UnixConn, h Handler) (*Server, error) {
	s := &Server{socket: socket, handler: h, in: newInbox(socket)}
	s.base, s.end = context.WithCancel(context.Background())
	var err error
	s.out, err = newOutbox(socket, func(error) { _ = socket.Close() }) // the read says so
	if err != nil {
		s.end()
		return nil, errors.Join(err, socket.Close())
	}
	return s, nil
}

// Serve makes calls until the host closes its end, which is no error, or breaks
// the protocol. Then it ends the calls under way, and waits for them.
func (s *Server) Serve() error {
	err := s.read()
	_ = s.socket.Close() // a second Close is harmless
	s.end()
	s.running.Wait()
	s.out.close()
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) {
		return nil // the last is a host that closed its end with answers unread
	}
	return err
}

// Close ends Serve once the last answers are out, and no later than ctx.
func (s *Server) Close(ctx context.Context) {
	s.out.settle(ctx)
	_ = s.socket.Close() // Serve says what there is to say
}

func (s *Server) read() error {
	for {
		if err := s.in.fill(); err != nil {
			return err
		}
		for {
			f, ok, err := s.in.next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if err := s.take(f); err != nil {
				return err
			}
		}
		s.makeTogether()
		s.flush()
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
	j := &job{id: id, request: r, ctx: lazyctx.WithTimeout(s.base, timeFor(r.Timeout))}
	s.admit(j)
	if manner == Together {
		s.waiting = append(s.waiting, j)
	} else {
		s.makeApart(j)
	}
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

// flush sends the answers of the reading goroutine.
func (s *Server) flush() {
	if s.unsent {
		s.unsent = false
		s.out.flush(false)
	}
}

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

func (s *Server) makeApart(j *job) {
	s.running.Go(func() {
		a := s.handler.Handle(j.ctx, &j.request)
		s.answer(j, &a)
	})
}

// makeTogether makes the calls that wait for each other.
func (s *Server) makeTogether() {
	for len(s.waiting) > 0 {
		group := s.nextGroup()
		if len(group) == 1 {
			s.makeApart(group[0])
			continue
		}
		s.makeGroup(group)
	}
}

// nextGroup takes the first waiting call and those like it.
func (s *Server) nextGroup() []*job {
	first := &s.waiting[0].request
	group := make([]*job, 0, len(s.waiting))
	rest := s.waiting[:0]
	for _, j := range s.waiting {
		if j.request.Op == first.Op && j.request.Store == first.Store && j.request.Metadata == first.Metadata {
			group = append(group, j)
		} else {
			rest = append(rest, j)
		}
	}
	clear(s.waiting[len(rest):])
	s.waiting = rest
	return group
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
	s.running.Go(func() {
		defer ctx.End()
		requests := make([]*Request, len(group))
		for i, j := range group {
			requests[i] = &j.request
		}
		answers := s.handler.Together(ctx, requests)
		s.answerAll(group, answers)
	})
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
