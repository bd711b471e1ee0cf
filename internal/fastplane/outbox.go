package fastplane

import (
	"context"
	"net"
	"runtime"
	"sync"
)

const (
	// roomForParts is how full an outbox may be for the next part of a large
	// body; frames that are not such parts go in between.
	roomForParts = 2 * maxFrame
	// roomForFrames is how full it may be for anything but answers and
	// cancellations, which the slots bound.
	roomForFrames = 1 << 20
	// keptBuffer is the largest buffer that is kept for the next writes: more than
	// that is the burst of a moment.
	keptBuffer = 2 << 20
	// plainBuffer is how large a buffer may be that is kept for good. A larger one
	// is given up after calmWrites that it was too large for.
	plainBuffer = 64 << 10
	calmWrites  = 256
	// unlimited is the room for answers and cancellations.
	unlimited = 1 << 62
	// flushRounds is how often a caller writes what others have added meanwhile.
	flushRounds = 16
)

// An outbox makes few writes of many frames. Whoever adds a frame while nobody
// writes does so for all, without waiting in the write: what the socket doesn't
// take at once is the courier's, a goroutine that is there for nothing else.
type outbox struct {
	socket  *net.UnixConn
	failed  failure
	courier chan []byte // what the socket would not take; the courier flushes then
	quit    chan struct{}
	done    chan struct{} // closed when the courier is gone

	writer *attempt // of whoever flushes

	mu       sync.Mutex
	buf      []byte
	spare    []byte
	calm     int // writes in a row that a plain buffer would have held
	flushing bool
	closed   bool
	drained  chan struct{} // closed when buf is next taken; nil if nobody waits
}

// A failure is called for each write that has failed. lost are frames that surely
// have not reached the other end; there may be more.
type failure func(err error, lost []byte)

func newOutbox(socket *net.UnixConn, failed failure) (*outbox, error) {
	writer, err := attemptToWrite(socket)
	if err != nil {
		return nil, err
	}
	o := &outbox{socket: socket, writer: writer, failed: failed, courier: make(chan []byte, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go o.deliver()
	return o, nil
}

// add appends what frames append once at most room bytes are there, and says
// whether the caller has to flush. It waits for that as long as ctx lets it.
func (o *outbox) add(ctx context.Context, room int, frames func([]byte) []byte) (flush bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.await(ctx, room); err != nil {
		return false, err
	}
	if o.closed {
		return false, nil // whoever closed it tells those whom it concerns
	}
	o.buf = frames(o.buf)
	flush = !o.flushing && len(o.buf) > 0
	o.flushing = o.flushing || flush
	return flush, nil
}

// await returns when the outbox holds at most room bytes, or ctx ends. It gives
// up the lock meanwhile.
func (o *outbox) await(ctx context.Context, room int) error {
	for len(o.buf) > room && !o.closed {
		if o.drained == nil {
			o.drained = make(chan struct{})
		}
		drained := o.drained
		o.mu.Unlock()
		err := o.wait(ctx, drained)
		o.mu.Lock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *outbox) wait(ctx context.Context, drained <-chan struct{}) error {
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flush writes what is there. It is for whoever unlock told to. With others at
// work, it lets them add their frames first.
func (o *outbox) flush(others bool) {
	if others {
		runtime.Gosched()
	}
	for range flushRounds {
		buf, ok := o.take()
		if !ok {
			return
		}
		n, err := o.writer.on(buf)
		if err != nil {
			if n == 0 {
				o.failed(err, buf)
			} else {
				o.failed(err, nil)
			}
			o.give(buf)
			continue
		}
		if n < len(buf) {
			o.courier <- buf[n:]
			return
		}
		o.give(buf)
	}
	o.courier <- nil
}

// take returns what is to be written; where that is nothing, the flushing ends.
func (o *outbox) take() (buf []byte, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.drained != nil {
		close(o.drained)
		o.drained = nil
	}
	if len(o.buf) == 0 {
		o.flushing = false
		return nil, false
	}
	buf, o.buf, o.spare = o.buf, o.spare[:0], nil
	return buf, true
}

// give returns a written buffer.
func (o *outbox) give(buf []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if cap(buf) > keptBuffer || o.outgrown(buf) {
		return
	}
	if cap(o.buf) == 0 {
		o.buf = buf[:0]
		return
	}
	o.spare = buf[:0]
}

// outgrown reports whether a buffer has long been larger than what is written
// needs.
func (o *outbox) outgrown(buf []byte) bool {
	if len(buf) > plainBuffer {
		o.calm = 0
	} else {
		o.calm++
	}
	return o.calm > calmWrites && cap(buf) > plainBuffer
}

// close drops what is not written and takes nothing any more. The socket is
// closed by then, so that no write waits.
func (o *outbox) close() {
	o.mu.Lock()
	first := !o.closed
	o.closed = true
	o.buf = nil
	if o.drained != nil {
		close(o.drained)
		o.drained = nil
	}
	o.mu.Unlock()
	if first {
		close(o.quit)
	}
	<-o.done
}
