package fastplane

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/lazyctx"
	"github.com/cachewright/cachewright/internal/wire"
)

// endings are how a call's context ends.
var endings = map[string]struct {
	start func() (ctx context.Context, end func())
	err   error
}{
	"a cancellation": {func() (context.Context, func()) { return context.WithCancel(context.Background()) }, context.Canceled},
	"a deadline": {func() (context.Context, func()) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		return ctx, func() { <-ctx.Done(); cancel() }
	}, context.DeadlineExceeded},
	"a lazy deadline": {func() (context.Context, func()) {
		return lazyctx.WithTimeout(context.Background(), 20*time.Millisecond), func() {}
	}, context.DeadlineExceeded},
	"the end of a lazy one's parent": {func() (context.Context, func()) {
		ctx, cancel := context.WithCancel(context.Background())
		return lazyctx.WithTimeout(ctx, time.Hour), cancel
	}, context.Canceled},
}

// A call that is alone leads the reading, for a moment; one beside others
// doesn't.
func TestACallEndsWithItsContextAndItsLateAnswerReachesNobody(t *testing.T) {
	t.Parallel()
	for name, ending := range endings {
		for _, beside := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c, peer := played(t)
				var other <-chan result
				var otherID uint64
				if beside {
					other = c.begin(context.Background(), Request{Op: OpGet, Key: "other"})
					otherID = peer.next(t).id
				}
				ctx, end := ending.start()
				call := c.begin(ctx, Request{Op: OpGet, Key: "left"})
				left := peer.next(t).id
				end()
				if r := await(t, call); !errors.Is(r.err, ending.err) || isLost(r.err) || !r.sent {
					t.Errorf("the call ended with %v, sent %v", r.err, r.sent)
				}
				if f := peer.next(t); f.kind != kindCancel || f.id != left {
					t.Errorf("the peer got kind %d for %#x, want a cancellation of %#x", f.kind, f.id, left)
				}

				next := c.begin(context.Background(), Request{Op: OpGet, Key: "next"})
				nextID := peer.next(t).id
				if uint32(nextID) == uint32(left) {
					t.Fatal("the slot was used again before its answer had come")
				}
				peer.write(t, whole(kindAnswer, uint8(StatusYes), left, "late"))
				if beside {
					peer.write(t, whole(kindAnswer, uint8(StatusYes), otherID, "other"))
					checkValue(t, other, "other")
				}
				peer.write(t, whole(kindAnswer, uint8(StatusYes), nextID, "next"))
				checkValue(t, next, "next")

				used := map[uint64]bool{}
				for range 3 { // as many as there are free slots at most
					call := c.begin(context.Background(), Request{Op: OpGet, Key: "later"})
					id := peer.next(t).id
					used[id] = true
					defer func() {
						peer.write(t, whole(kindAnswer, uint8(StatusYes), id, "later"))
						checkValue(t, call, "later")
					}()
				}
				if again := left + 1<<32; !used[again] {
					t.Errorf("%v are used, want %d among them", used, again)
				}
			})
		}
	}
}

func checkValue(t *testing.T, call <-chan result, want string) {
	t.Helper()
	if r := await(t, call); r.err != nil || string(r.Value) != want {
		t.Errorf("got %q, %v; want %q", r.Value, r.err, want)
	}
}

func TestACallThatWaitsForASlotEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, peer := played(t)
			go func() { // the peer takes the requests and answers none
				for {
					if _, err := peer.Read(make([]byte, 1<<16)); err != nil {
						return
					}
				}
			}()
			calls := fillSlots(t, c)
			ctx, end := ending.start()
			call := c.begin(ctx, Request{Op: OpSet, Key: "k"})
			if ending.err == context.Canceled {
				eventually(t, "it waits", func() bool { return c.queued() == 1 })
			}
			end()
			r := await(t, call)
			if !errors.Is(r.err, ending.err) || r.sent {
				t.Errorf("it ended with %v, sent %v", r.err, r.sent)
			}
			if overloaded := errors.Is(r.err, wire.ErrOverloaded); overloaded != (ending.err == context.DeadlineExceeded) {
				t.Errorf("%v says overloaded: %v", r.err, overloaded)
			}
			if n := c.queued(); n != 0 {
				t.Errorf("%d are left in the queue", n)
			}
			c.Close()
			for range Slots {
				await(t, calls)
			}
		})
	}
}

func TestACallThatWaitsForRoomEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := played(t)
			fillOutbox(c)
			ctx, end := ending.start()
			call := c.begin(ctx, Request{Op: OpSet, Key: "k", Value: []byte("v")})
			if ending.err == context.Canceled {
				eventually(t, "it waits", func() bool { return c.out.waited() })
			}
			end()
			if r := await(t, call); !errors.Is(r.err, ending.err) || r.sent {
				t.Errorf("it ended with %v, sent %v", r.err, r.sent)
			}
		})
	}
}

// fillOutbox leaves no room in the outbox, as if a write took for ever.
func fillOutbox(c *Client) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.flushing = true
	c.out.buf = make([]byte, roomForFrames+1)
}

// waited reports whether somebody waits for room.
func (o *outbox) waited() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.drained != nil
}

// The peer has seen a part and waits for the others; it has to hear that there
// will be none.
func TestACallInTheMiddleOfItsBodyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, peer := played(t)
			ctx, end := ending.start()
			call := c.begin(ctx, Request{Op: OpSet, Key: "k", Value: make([]byte, 16<<20)})
			first := peer.next(t)
			id, size, parts := first.id, first.size, len(first.part)
			end()
			if r := await(t, call); !errors.Is(r.err, ending.err) || !r.sent {
				t.Errorf("it ended with %v, sent %v", r.err, r.sent)
			}
			f := peer.next(t)
			for ; f.kind == kindMore && f.id == id; f = peer.next(t) {
				parts += len(f.part)
			}
			if f.kind != kindCancel || f.id != id || parts >= size {
				t.Errorf("after %d of %d bytes kind %d for %#x, want a cancellation of %#x", parts, size, f.kind, f.id, id)
			}
			var a Answer
			a.Fail(context.Canceled)
			peer.write(t, whole(kindAnswer, uint8(a.Status), id, string(appendAnswer(nil, OpSet, &a))))
			eventually(t, "the slot is free", func() bool { return c.pending.Load() == 0 })
			next := c.begin(context.Background(), Request{Op: OpGet, Key: "next"})
			if f := peer.next(t); f.id != id+1<<32 {
				t.Errorf("the next call has %#x, want the next use of %#x", f.id, id)
			}
			peer.write(t, whole(kindAnswer, uint8(StatusYes), id+1<<32, "next"))
			checkValue(t, next, "next")
		})
	}
}
