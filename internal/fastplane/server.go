package fastplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
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
