package fastplane

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// late makes a client whose server begins only once serve is called: until then
// nothing is read and nothing answered.
func late(t *testing.T, h Handler) (c *Client, serve func()) {
	t.Helper()
	host, driver := ends(t)
	c, err := NewClient(host)
	must(t, err)
	t.Cleanup(c.Close)
	return c, func() {
		s, err := NewServer(driver, h)
		must(t, err)
		done := make(chan error, 1)
		go func() { done <- s.Serve() }()
		t.Cleanup(func() {
			c.Close()
			if err := await(t, done); err != nil {
				t.Errorf("Serve returned %v", err)
			}
		})
	}
}

func TestAStallCostsBoundedMemoryAndEverybodyIsServedAfterIt(t *testing.T) {
	t.Parallel()
	m := &mirror{manner: Apart}
	c, serve := late(t, m)
	var callers sync.WaitGroup
	call := func(key string, op Op) {
		callers.Go(func() {
			r := Request{Op: op, Store: 1, Key: key}
			if op == OpSet {
				r.Value = told(key)
			}
			if a, _, err := c.Call(context.Background(), &r); err != nil || !a.Yes() {
				t.Errorf("%.20s: %v", key, err)
			}
		})
	}
	for i := range Slots + 100 {
		switch i % 16 {
		case 0:
			call(fmt.Sprintf("%d:%d", 3*maxPart, i), OpSet)
		case 1:
			call(fmt.Sprintf("%d:%d", maxPart/2, i), OpSet)
		default:
			call(fmt.Sprintf("100:%d", i), OpGet)
		}
	}
	eventually(t, "every slot is used and the others wait", func() bool { return c.pending.Load() == Slots && c.queued() == 100 })
	if held := c.out.held(); held > roomForFrames+maxFrame {
		t.Errorf("the outbox holds %d bytes", held)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, sent, err := c.Call(ctx, &Request{Op: OpGet, Store: 1, Key: "1:k"})
	if sent || !errors.Is(err, wire.ErrOverloaded) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call that had no slot ended with %v, sent %v", err, sent)
	}
	serve()
	callers.Wait()
	if m.wrong.Load() > 0 {
		t.Errorf("%d values arrived wrong", m.wrong.Load())
	}
	checkIdle(t, c)
}

// checkIdle checks that nothing is under way and nothing is lost.
func checkIdle(t *testing.T, c *Client) {
	t.Helper()
	eventually(t, "every answer has come", func() bool { return c.pending.Load() == 0 })
	c.mu.Lock()
	defer c.mu.Unlock()
	if free, made := len(c.free), int(c.made.Load()); free != made || len(c.queue) > 0 || c.err != nil {
		t.Errorf("%d of %d slots are free, %d callers wait, the plane's error is %v", free, made, len(c.queue), c.err)
	}
}

func TestAQueueThatIsFullRefusesAtOnce(t *testing.T) {
	t.Parallel()
	c, serve := late(t, &mirror{manner: Inline})
	calls := fillSlots(t, c)
	c.mu.Lock()
	for range maxQueue {
		c.queue = append(c.queue, &ticket{slot: make(chan *slot, 1)})
	}
	c.mu.Unlock()
	_, sent, err := c.Call(context.Background(), &Request{Op: OpGet, Store: 1, Key: "1:k"}) // no deadline: it must not wait
	if sent || !errors.Is(err, wire.ErrOverloaded) || isLost(err) {
		t.Errorf("%v, sent %v", err, sent)
	}
	c.mu.Lock()
	c.queue = nil
	c.mu.Unlock()
	serve()
	for range Slots {
		if r := await(t, calls); r.err != nil {
			t.Error(r.err)
		}
	}
	checkIdle(t, c)
}

// fillSlots makes calls until every slot has one.
func fillSlots(t *testing.T, c *Client) <-chan result {
	calls := make(chan result, Slots)
	for range Slots {
		go func() {
			a, sent, err := c.Call(context.Background(), &Request{Op: OpGet, Store: 1, Key: "100:k"})
			calls <- result{a, sent, err}
		}()
	}
	eventually(t, "every slot is used", func() bool { return c.pending.Load() == Slots })
	return calls
}

// manyCallers are 10,000, and fewer under the race detector, which has a limit.
func TestThousandsOfCallersAtOnceAreAllServed(t *testing.T) {
	t.Parallel()
	for name, manner := range map[string]Manner{"inline": Inline, "apart": Apart, "together": Together} {
		t.Run(name, func(t *testing.T) {
			c := connected(t, &mirror{manner: manner})
			var ready, callers sync.WaitGroup
			var served atomic.Int64
			begin := make(chan struct{})
			ready.Add(manyCallers)
			for i := range manyCallers {
				callers.Go(func() {
					ready.Done()
					<-begin
					key := fmt.Sprintf("%d:%d", i%200, i)
					a, _, err := c.Call(context.Background(), &Request{Op: OpGet, Store: 1, Key: key})
					if err != nil || string(a.Value) != string(told(key)) {
						t.Errorf("%s: %v, %.20q", key, err, a.Value)
						return
					}
					served.Add(1)
				})
			}
			ready.Wait()
			close(begin)
			callers.Wait()
			if served.Load() != manyCallers {
				t.Errorf("%d of %d were served", served.Load(), manyCallers)
			}
			checkIdle(t, c)
		})
	}
}

// Callers who give up in the queue give their places up too, wherever they
// stand.
func TestAQueueThatIsLeftIsEmpty(t *testing.T) {
	t.Parallel()
	c, serve := late(t, &mirror{manner: Inline})
	calls := fillSlots(t, c)
	ctx, cancel := context.WithCancel(context.Background())
	const impatient = 3000
	ended := make(chan error, impatient)
	for range impatient {
		go func() {
			_, _, err := c.Call(ctx, &Request{Op: OpGet, Store: 1, Key: "1:k"})
			ended <- err
		}()
	}
	eventually(t, "they wait", func() bool { return c.queued() == impatient })
	cancel()
	serve() // slots come while they leave
	for range impatient {
		if err := await(t, ended); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	for range Slots {
		if r := await(t, calls); r.err != nil {
			t.Error(r.err)
		}
	}
	checkIdle(t, c)
}

// A host that reads no answers costs the driver what the answers take, no more;
// large ones wait outside.
func TestAHostThatReadsNothingIsServedOnceItReads(t *testing.T) {
	t.Parallel()
	host, done := served(t, &mirror{manner: Apart})
	var requests []byte
	for n := range uint64(64) {
		requests = append(requests, get(n, fmt.Sprintf("%d:%d", 8*maxPart, n))...)
	}
	for n := range uint64(64) {
		requests = append(requests, get(64+n, fmt.Sprintf("100:%d", n))...)
	}
	host.write(t, requests)
	got := map[uint64]int{}
	small := 0
	for whole := 0; whole < 128; {
		f := host.next(t)
		got[f.id] += len(f.part)
		switch {
		case f.kind == kindAnswer && f.id >= 64:
			small++
			whole++
		case got[f.id] == 8*maxPart:
			whole++
			if small < 64 && whole > small+60 {
				t.Errorf("%d large answers were through before the small ones", whole-small)
			}
		}
	}
	must(t, host.Close())
	if err := await(t, done); err != nil {
		t.Error(err)
	}
}
