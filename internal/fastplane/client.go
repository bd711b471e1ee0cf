package fastplane

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Client is the host's end of a plane. Its calls are concurrent. Once it has
// failed, be it that the other end is gone, every call fails.
type Client struct {
	socket *net.UnixConn
	out    *outbox
	start  time.Time // of the clock of deadlines

	in      *inbox      // belongs to whoever leads
	spin    spin        // of a caller that leads
	crowd   spin        // of the reader, for many
	timed   bool        // the socket has a deadline
	leading atomic.Bool // somebody reads the socket
	needed  chan struct{}
	pending atomic.Int32 // calls whose answer has not come, the abandoned ones too
	expiry  expiry
	pulse   pulse

	broken chan struct{} // closed when the plane has failed
	reader sync.WaitGroup

	slots [Slots]*slot
	made  atomic.Int32 // how many of slots are there

	mu    sync.Mutex
	err   error // why the plane has failed
	free  []*slot
	queue []*ticket
}

// ErrGone is why calls fail on a plane that was closed.
var ErrGone = errors.New("the fast plane is closed")

// NewClient makes a client of the host's end of a socket pair, and owns it.
func NewClient(socket *net.UnixConn) (*Client, error) {
	c := &Client{
		socket: socket,
		start:  time.Now(),
		spin:   newSpin(false),
		crowd:  newSpin(false),
		needed: make(chan struct{}, 1),
		broken: make(chan struct{}),
	}
	c.expiry.timer = time.AfterFunc(time.Hour, c.expire)
	c.pulse.timer = time.AfterFunc(time.Hour, c.onBeat)
	var err error
	if c.in, err = newInbox(socket); err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	if c.out, err = newOutbox(socket, c.lose); err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	c.reader.Go(c.readOn)
	return c, nil
}

// Call makes one call. sent says of an error whether the request may have
// reached the other end; an Answer that says StatusFailed is no error of Call.
// Errors are the context's, wire.ErrOverloaded or a *LostError.
func (c *Client) Call(ctx context.Context, r *Request) (a Answer, sent bool, err error) {
	t, err := timing(ctx, c.start)
	if err != nil {
		return a, false, err
	}
	r.Timeout = t.left
	s, err := c.acquire(ctx, t, bringsValues(r.Op))
	if err != nil {
		return a, false, err
	}
	if t.watched {
		c.watch(t.deadline)
	}
	if sent, err := c.send(ctx, s, r); err != nil {
		return a, sent, err
	}
	if c.pending.Load() == 1 && c.leading.CompareAndSwap(false, true) {
		if c.leadFor(s); !s.is(phaseDone) {
			s.patience.Store(patienceOver)
		}
	} else if !c.leading.Load() {
		c.call()
	}
	if err := c.await(ctx, t, s); err != nil {
		return a, true, err
	}
	defer c.release(s)
	if s.err != nil {
		return a, !s.unsent.Load(), s.err
	}
	a, err = parseAnswer(r.Op, s.status, s.body)
	if err != nil {
		c.fail(err)
		return a, true, &LostError{err}
	}
	return a, true, nil
}

// A LostError says that the plane failed.
type LostError struct{ Cause error }

func (e *LostError) Error() string { return "the fast plane failed: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Cause }

// Err is why the plane has failed, or nil.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends every call with an error, and the plane. A second Close does
// nothing.
func (c *Client) Close() {
	c.fail(ErrGone)
	c.reader.Wait()
	c.out.close()
	c.expiry.timer.Stop()
	c.pulse.timer.Stop()
}

// lose ends the plane after a write that failed. The other end can't have made the
// calls of lost requests.
func (c *Client) lose(cause error, lost []byte) {
	for f, length, _ := parseFrame(lost); length > 0; f, length, _ = parseFrame(lost) {
		if s := c.slotOf(f.id); f.kind == kindRequest && s != nil {
			s.unsent.Store(true)
		}
		lost = lost[length:]
	}
	c.fail(cause)
}

// fail ends the plane, if it has not ended yet.
func (c *Client) fail(cause error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = &LostError{cause}
	close(c.broken)
	queue := c.queue
	c.queue = nil
	c.mu.Unlock()
	_ = c.socket.Close() // what it says adds nothing to cause
	for _, s := range c.slots[:c.made.Load()] {
		if s.move(phaseWaiting, phaseClaimed) {
			s.err = c.err
			s.phase.Store(uint32(phaseDone))
			s.wake()
		}
	}
	for _, t := range queue {
		t.slot <- nil
	}
}
