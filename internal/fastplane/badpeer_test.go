package fastplane

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Three calls are under way when the peer does it: a Get in the first slot, a
// TTL in the second, a GetMany in the third. The fourth slot has served a call
// and is free. get, ttl, many and free are their ids.
type underWay struct{ get, ttl, many, free uint64 }

var badPeers = map[string]func(underWay) []byte{
	"goes away":                  func(underWay) []byte { return nil },
	"goes away in a frame":       func(u underWay) []byte { return whole(kindAnswer, 2, u.get, "value")[:19] },
	"goes away between parts":    func(u underWay) []byte { return cut(kindAnswer, 2, u.get, 9, "val") },
	"sends a frame of no length": func(underWay) []byte { return make([]byte, headerSize) },
	"sends a frame without end": func(u underWay) []byte {
		return append([]byte{0xff, 0xff, 0xff, 0x7f}, whole(kindAnswer, 2, u.get, "")[4:]...)
	},
	"sends a frame of a kind that there is not": func(u underWay) []byte { return whole(9, 2, u.get, "") },
	"sends a frame of kind 0":                   func(u underWay) []byte { return whole(0, 2, u.get, "") },
	"sends a request":                           func(u underWay) []byte { return whole(kindRequest, 1, u.get, "") },
	"sends a cancellation":                      func(u underWay) []byte { return whole(kindCancel, 0, u.get, "") },
	"sets a flag that there is not": func(u underWay) []byte {
		f := whole(kindAnswer, 2, u.get, "v")
		f[6] = 2
		return f
	},
	"answers a slot that was never used":      func(u underWay) []byte { return whole(kindAnswer, 2, u.free+1, "") },
	"answers a slot far beyond all":           func(u underWay) []byte { return whole(kindAnswer, 2, 1<<32-1, "") },
	"answers a free slot":                     func(u underWay) []byte { return whole(kindAnswer, 2, u.free, "") },
	"answers the next use of a slot":          func(u underWay) []byte { return whole(kindAnswer, 2, u.get+1<<32, "") },
	"answers the last use of a slot":          func(u underWay) []byte { return whole(kindAnswer, 2, u.get-1<<32, "") },
	"answers with status 0":                   func(u underWay) []byte { return whole(kindAnswer, 0, u.get, "") },
	"answers with a status that there is not": func(u underWay) []byte { return whole(kindAnswer, 4, u.get, "") },
	"answers with too little":                 func(u underWay) []byte { return whole(kindAnswer, 2, u.ttl, "123") },
	"answers with too much":                   func(u underWay) []byte { return whole(kindAnswer, 2, u.ttl, "123456789") },
	"says no with a value":                    func(u underWay) []byte { return whole(kindAnswer, 3, u.get, "v") },
	"answers with garbage":                    func(u underWay) []byte { return whole(kindAnswer, 2, u.many, strings.Repeat("\xff", 64)) },
	"fails with garbage":                      func(u underWay) []byte { return whole(kindAnswer, 1, u.many, strings.Repeat("\xff", 64)) },
	"begins a body beyond the largest":        func(u underWay) []byte { return cut(kindAnswer, 2, u.get, maxBody+1, "v") },
	"begins a body that is whole": func(u underWay) []byte {
		f := cut(kindAnswer, 2, u.get, 2, "v")
		f[headerSize] = 1
		return f
	},
	"begins a body without its size": func(u underWay) []byte {
		f := whole(kindAnswer, 2, u.get, "123")
		f[6] = flagCut
		return f
	},
	"continues what it has not begun": func(u underWay) []byte { return more(u.get, "v") },
	"continues with nothing":          func(u underWay) []byte { return append(cut(kindAnswer, 2, u.get, 9, "v"), more(u.get, "")...) },
	"continues beyond the end":        func(u underWay) []byte { return append(cut(kindAnswer, 2, u.get, 3, "v"), more(u.get, "123")...) },
	"begins again in the middle": func(u underWay) []byte {
		return append(cut(kindAnswer, 2, u.get, 3, "v"), cut(kindAnswer, 2, u.get, 3, "v")...)
	},
	"begins with a part that says it does": func(u underWay) []byte {
		f := cut(kindAnswer, 2, u.get, 3, "v")
		f[4] = byte(kindMore)
		return f
	},
}

func TestABadPeerEndsEveryCallAndEveryLaterOne(t *testing.T) {
	t.Parallel()
	for name, does := range badPeers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, peer := played(t)
			calls, u := threeUnderWay(t, c, peer)
			peer.write(t, does(u))
			if strings.HasPrefix(name, "goes away") {
				must(t, peer.Close())
			}
			for _, call := range calls {
				if r := await(t, call); !isLost(r.err) || !r.sent {
					t.Errorf("a call ended with %v, sent %v, status %d", r.err, r.sent, r.Status)
				}
			}
			await(t, c.broken)
			if r := await(t, c.begin(context.Background(), requests[0])); !isLost(r.err) || r.sent {
				t.Errorf("a later call ended with %v, sent %v", r.err, r.sent)
			}
			if !isLost(c.Err()) {
				t.Errorf("Err is %v", c.Err())
			}
		})
	}
}

// threeUnderWay makes the calls, each once the peer has the one before it.
func threeUnderWay(t *testing.T, c *Client, peer *player) (calls []<-chan result, u underWay) {
	ctx := context.Background()
	var ids []uint64
	var first <-chan result
	for _, r := range []Request{{Op: OpGet, Key: "k"}, {Op: OpTTL, Key: "k"}, {Op: OpGetMany, Keys: []string{"a", "b"}}, {Op: OpDelete, Key: "k"}} {
		call := c.begin(ctx, r)
		calls = append(calls, call)
		ids = append(ids, peer.next(t).id)
		if len(calls) == 1 { // once through, so that the first slot has a last use
			first = calls[0]
			peer.write(t, whole(kindAnswer, uint8(StatusYes), ids[0], "v"))
			await(t, first)
			calls[0] = c.begin(ctx, r)
			ids[0] = peer.next(t).id
		}
	}
	peer.write(t, whole(kindAnswer, uint8(StatusYes), ids[3], ""))
	if r := await(t, calls[3]); r.err != nil {
		t.Fatal(r.err)
	}
	return calls[:3], underWay{ids[0], ids[1], ids[2], ids[3]}
}

// A caller who leads is alone with the socket; one who doesn't has the reader.
func TestAPeerThatGoesAwayEndsACallThatIsAlone(t *testing.T) {
	t.Parallel()
	for range 20 { // dies before, in and after the time that a caller leads
		c, peer := played(t)
		call := c.begin(context.Background(), Request{Op: OpSet, Key: "k", Value: []byte("v")})
		peer.next(t)
		must(t, peer.Close())
		if r := await(t, call); !isLost(r.err) || !r.sent {
			t.Errorf("%v, sent %v", r.err, r.sent)
		}
	}
}

// Nothing can have been done where the peer was gone before the request was
// written, alone or with others.
func TestAPeerThatIsGoneAlreadyIsNoticedByTheNextCall(t *testing.T) {
	t.Parallel()
	for _, callers := range []int{1, 20} {
		c, peer := played(t)
		must(t, peer.Close())
		calls := make([]<-chan result, callers)
		for i := range calls {
			calls[i] = c.begin(context.Background(), Request{Op: OpSet, Key: "k"})
		}
		for _, call := range calls {
			if r := await(t, call); !isLost(r.err) || r.sent {
				t.Errorf("%v, sent %v", r.err, r.sent)
			}
		}
	}
}

// Callers who wait in the queue, for room, or between two parts are callers too.
func TestAPeerThatGoesAwayEndsTheCallsThatItHasNotSeen(t *testing.T) {
	t.Parallel()
	c, peer := played(t)
	calls := make(chan result, Slots+64)
	large := make([]byte, 4*maxPart)
	for i := range Slots + 64 {
		go func() {
			r := Request{Op: OpSet, Key: "k", Value: large[:len(large)>>(i%5)]}
			_, sent, err := c.Call(context.Background(), &r)
			calls <- result{sent: sent, err: err}
		}()
	}
	eventually(t, "the queue is as long as it gets", func() bool { return c.queued() == 64 })
	eventually(t, "the outbox is full", func() bool { return c.out.held() > roomForParts })
	must(t, peer.Close())
	unsent := 0
	for range Slots + 64 {
		r := await(t, calls)
		if !isLost(r.err) {
			t.Errorf("a call ended with %v", r.err)
		}
		if !r.sent {
			unsent++
		}
	}
	if unsent < 64 {
		t.Errorf("%d calls were not sent, and 64 had no slot", unsent)
	}
}

func (c *Client) queued() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

func (o *outbox) held() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.buf)
}

// Parts of a large request that are not out yet have nowhere to go.
func TestClosingEndsACallInTheMiddleOfItsRequest(t *testing.T) {
	t.Parallel()
	for range 20 {
		c, _ := played(t)
		call := c.begin(context.Background(), Request{Op: OpSet, Key: "k", Value: make([]byte, 16<<20)})
		eventually(t, "the outbox is full", func() bool { return c.out.waited() })
		c.Close()
		if r := await(t, call); !isLost(r.err) {
			t.Error(r.err)
		}
	}
}

func TestClosingEndsCallsAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	c, peer := played(t)
	call := c.begin(context.Background(), Request{Op: OpGet, Key: "k"})
	peer.next(t)
	c.Close()
	c.Close()
	if r := await(t, call); !isLost(r.err) || !strings.Contains(r.err.Error(), ErrGone.Error()) {
		t.Error(r.err)
	}
}

// An answer to a request that still waits for room is a breach, whatever else
// becomes of the call.
func TestAnAnswerBeforeItsRequestEndsThePlane(t *testing.T) {
	t.Parallel()
	c, peer := played(t)
	first := c.begin(context.Background(), Request{Op: OpGet, Key: "k"}) // has the socket read
	peer.next(t)
	fillOutbox(c)
	ctx, cancel := context.WithCancel(context.Background())
	call := c.begin(ctx, Request{Op: OpGet, Key: "k"})
	eventually(t, "it waits for room", func() bool { return c.out.waited() })
	early := c.slots[1]
	peer.write(t, whole(kindAnswer, uint8(StatusYes), 1<<32|1, "v"))
	eventually(t, "the answer is there", func() bool { return early.is(phaseDone) })
	cancel()
	if r := await(t, call); !errors.Is(r.err, context.Canceled) || r.sent {
		t.Errorf("%v, sent %v", r.err, r.sent)
	}
	if r := await(t, first); !isLost(r.err) || !errors.Is(r.err, errProtocol) {
		t.Errorf("another call ended with %v", r.err)
	}
}

// What a peer announces costs memory only as it comes.
func TestAnAnnouncementCostsNoMemory(t *testing.T) {
	t.Parallel()
	for _, size := range []int{maxPart + 1, promised + 1, maxBody} {
		b := begin(frame{size: size, part: make([]byte, 10)})
		if cap(b.bytes) > promised {
			t.Errorf("%d bytes for a body of %d of which 10 have come", cap(b.bytes), size)
		}
		for whole := false; !whole; {
			var err error
			whole, err = b.add(make([]byte, min(maxPart, size-len(b.bytes))))
			must(t, err)
			if cap(b.bytes) > max(promised, 3*len(b.bytes)) {
				t.Errorf("%d bytes for %d", cap(b.bytes), len(b.bytes))
			}
		}
		if len(b.bytes) != size || cap(b.bytes) > size+size/8 {
			t.Errorf("%d bytes, room for %d, want %d", len(b.bytes), cap(b.bytes), size)
		}
	}
}
