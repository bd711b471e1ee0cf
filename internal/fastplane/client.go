package fastplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/internal/lazyctx"
	"github.com/cachewright/cachewright/internal/wire"
)

// maxQueue is how many callers may wait for a slot.
const maxQueue = 16 << 10

// A Client is the host's end of a plane. Its calls are concurrent. Once it has
// failed, be it that the other end is gone, every call fails.
type Client struct {
	socket *net.UnixConn
	out    *outbox
	start  time.Time // of the clock of deadlines

	in      *inbox      // belongs to whoever leads
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

// A ticket is a caller's place in the queue for a slot. Whoever takes it out of
// the queue sends one slot, or nil where there will be none.
type ticket struct {
	slot     chan *slot
	value    bool
	deadline time.Duration // on the client's clock; 0 for none that the client watches
}

var tickets = sync.Pool{New: func() any { return &ticket{slot: make(chan *slot, 1)} }}

// ErrGone is why calls fail on a plane that was closed.
var ErrGone = errors.New("the fast plane is closed")

// NewClient makes a client of the host's end of a socket pair, and owns it.
func NewClient(socket *net.UnixConn) (*Client, error) {
	c := &Client{
		socket: socket,
		start:  time.Now(),
		in:     newInbox(socket),
		needed: make(chan struct{}, 1),
		broken: make(chan struct{}),
	}
	c.expiry.timer = time.AfterFunc(time.Hour, c.expire)
	c.pulse.timer = time.AfterFunc(time.Hour, c.onBeat)
	var err error
	if c.out, err = newOutbox(socket, c.fail); err != nil {
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
		return a, true, s.err
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

// limits are how long a call may take.
type limits struct {
	left     time.Duration   // what the other end is told
	watched  bool            // the deadline has no timer but the client's
	deadline time.Duration   // on the client's clock
	done     <-chan struct{} // ends the call before; may be nil
}

// timing reads a context, and fails if it has ended.
func timing(ctx context.Context, start time.Time) (limits, error) {
	if lazy, ok := ctx.(*lazyctx.Context); ok {
		deadline, _ := lazy.Deadline()
		parent := lazy.Parent()
		return limits{lazy.Timeout(), true, deadline.Sub(start), parent.Done()}, parent.Err()
	}
	t := limits{done: ctx.Done()}
	if deadline, ok := ctx.Deadline(); ok {
		t.left = max(time.Until(deadline), 1)
	}
	return t, ctx.Err()
}

// acquire returns a slot, for which it may have to wait.
func (c *Client) acquire(ctx context.Context, t limits, value bool) (*slot, error) {
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	if len(c.queue) == 0 {
		if s := c.unused(); s != nil {
			s.begin(value, t.deadline)
			c.mu.Unlock()
			return s, nil
		}
	}
	if len(c.queue) >= maxQueue {
		c.mu.Unlock()
		return nil, fmt.Errorf("%w: %d calls are under way and %d wait", wire.ErrOverloaded, Slots, maxQueue)
	}
	place := tickets.Get().(*ticket)
	place.value, place.deadline = value, t.deadline
	c.queue = append(c.queue, place)
	c.mu.Unlock()
	if t.watched {
		c.watch(t.deadline)
	}
	return c.turn(ctx, t, place)
}

// unused returns a free slot, if there is one. It is called with mu held.
func (c *Client) unused() *slot {
	if n := len(c.free); n > 0 {
		s := c.free[n-1]
		c.free = c.free[:n-1]
		return s
	}
	made := c.made.Load()
	if made == Slots {
		return nil
	}
	s := newSlot(uint32(made))
	c.slots[made] = s
	c.made.Store(made + 1)
	return s
}

// turn waits for the slot that a ticket brings.
func (c *Client) turn(ctx context.Context, t limits, place *ticket) (*slot, error) {
	var s *slot
	select {
	case s = <-place.slot:
	case <-t.done:
		if c.withdraw(place) {
			tickets.Put(place)
			return nil, queueError(ctx)
		}
		if s = <-place.slot; s != nil { // it has come meanwhile
			c.release(s)
			s = nil
		}
	}
	tickets.Put(place)
	if s != nil {
		return s, nil
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	return nil, queueError(ctx)
}

func queueError(ctx context.Context) error {
	err := reason(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %d calls were under way all the time: %w", wire.ErrOverloaded, Slots, err)
	}
	return err
}

func (c *Client) withdraw(t *ticket) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, t)
	if i < 0 {
		return false
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	return true
}

// dismiss sends those away whose time has run out in the queue, and says when
// that of the next one will have; 0 for none.
func (c *Client) dismiss(now int64) (next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = slices.DeleteFunc(c.queue, func(t *ticket) bool {
		switch {
		case t.deadline == 0:
		case int64(t.deadline) <= now:
			t.slot <- nil
			return true
		case next == 0 || int64(t.deadline) < next:
			next = int64(t.deadline)
		}
		return false
	})
	return next
}

// release gives a slot to the next caller in the queue. After a failure nobody
// is given one.
func (c *Client) release(s *slot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	s.clear()
	if len(c.queue) == 0 {
		c.free = append(c.free, s)
		return
	}
	next := c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	s.begin(next.value, next.deadline)
	next.slot <- s
}

// send writes the request. Where ctx ends before all of it is out the slot is
// released, or abandoned if the other end has seen a part.
func (c *Client) send(ctx context.Context, s *slot, r *Request) (sent bool, err error) {
	others := c.pending.Add(1) > 1
	if size := requestSize(r) + len(r.Value); size <= maxPart {
		err = c.sendSmall(ctx, s, r, others)
	} else {
		m := message{kind: kindRequest, code: uint8(r.Op), id: s.id(), tail: r.Value}
		m.head = appendRequest(make([]byte, 0, size-len(r.Value)), r)
		sent, err = c.out.send(ctx, m, others)
	}
	switch {
	case err == nil:
		return true, nil
	case sent:
		c.abandon(s)
		c.call() // for the answer that frees the slot
		return true, err
	}
	if !s.move(phaseWaiting, phaseClaimed) {
		c.fail(broken("an answer to a request that was not sent"))
		return false, err
	}
	c.pending.Add(-1)
	c.release(s)
	return false, err
}

func (c *Client) sendSmall(ctx context.Context, s *slot, r *Request, others bool) error {
	flush, err := c.out.add(ctx, roomForFrames, func(b []byte) []byte {
		return appendWhole(b, kindRequest, uint8(r.Op), s.id(), func(b []byte) []byte {
			return append(appendRequest(b, r), r.Value...)
		})
	})
	if flush {
		c.out.flush(others)
	}
	return err
}

// await waits for the answer. When ctx ends before, the slot is abandoned. Most
// calls are over before anybody could think of ending them, and to watch a
// channel that many share is dear: so done is watched only once the call is slow.
func (c *Client) await(ctx context.Context, t limits, s *slot) error {
	if t.done != nil && !s.is(phaseDone) && s.patience.CompareAndSwap(patienceNone, patienceNew) {
		c.beat()
	}
	left := false
	for !s.is(phaseDone) {
		if t.done == nil || left || s.patience.Load() != patienceOver {
			<-s.poke
		} else {
			select {
			case <-s.poke:
			case <-t.done:
				left = true
			}
		}
		if s.is(phaseDone) {
			return nil
		}
		if !left && (!t.watched || time.Since(c.start) < t.deadline) {
			continue
		}
		if c.abandon(s) {
			return reason(ctx)
		}
	}
	return nil
}

// reason is why a call that was left has ended. The timer that a lazy context
// has got meanwhile may be later than the client's.
func reason(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// abandon leaves a call that is under way, unless its answer is there, and
// tells the other end that nobody waits for it any more. Once left, the slot
// may serve another call at any time.
func (c *Client) abandon(s *slot) bool {
	id := s.id()
	if !s.move(phaseWaiting, phaseAbandoned) {
		return false
	}
	flush, _ := c.out.add(context.Background(), unlimited, func(b []byte) []byte {
		return appendHeader(b, kindCancel, 0, id, 0, 0)
	})
	if flush {
		c.out.flush(true)
	}
	return true
}

// Broken is closed when the plane has failed; Err says why.
func (c *Client) Broken() <-chan struct{} { return c.broken }

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
