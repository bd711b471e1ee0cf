package fastplane

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Manner says how a call is made.
type Manner int

const (
	// Apart lets the call wait: others go on meanwhile.
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
	waiting []*job       // for the end of the read that brought them
	inline  Request      // the one that is being made
	made    int          // inline
	unsent  bool         // answers are in the outbox that this goroutine has to flush
	running sync.WaitGroup
	active  atomic.Int32 // jobs under way
	spin    spin
	ahead   bool // the inbox holds what has not been looked at

	alone wager // that the reading goroutine makes a call itself
	turn  turn

	base context.Context
	end  context.CancelFunc
}

// NewServer makes a server of the driver's end of a socket pair, and owns it.
func NewServer(socket *net.UnixConn, h Handler) (*Server, error) {
	s := &Server{socket: socket, handler: h, spin: newSpin(true), alone: wager{stake: maxCredit, credit: maxCredit}}
	s.turn.ended = make(chan error, 1)
	s.turn.pulse.timer = time.AfterFunc(time.Hour, s.onBeat)
	s.base, s.end = context.WithCancel(context.Background())
	var err error
	if s.in, err = newInbox(socket); err != nil {
		s.end()
		return nil, errors.Join(err, socket.Close())
	}
	s.out, err = newOutbox(socket, func(error, []byte) { _ = socket.Close() }) // the read says so
	if err != nil {
		s.end()
		return nil, errors.Join(err, socket.Close())
	}
	return s, nil
}

// Serve makes calls until the host closes its end, which is no error, or breaks
// the protocol. Then it ends the calls under way, and waits for them.
func (s *Server) Serve() error {
	go s.readOn()
	err := <-s.turn.ended
	s.running.Wait()
	s.turn.pulse.timer.Stop()
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
