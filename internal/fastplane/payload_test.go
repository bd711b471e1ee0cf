package fastplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/lazyctx"
)

// A mirror answers with values that only keys tell, and checks those that it
// is given. Some calls take a moment.
type mirror struct {
	manner Manner
	wrong  atomic.Int64
}

func (m *mirror) Manner(uint64, Op) Manner { return m.manner }

func (m *mirror) Handle(ctx context.Context, r *Request) (a Answer) {
	if len(r.Key)%7 == 0 && m.manner != Inline {
		time.Sleep(time.Duration(len(r.Key)) * 10 * time.Microsecond)
	}
	switch r.Op {
	case OpGet, OpPull:
		a.Say(true)
		a.Value = told(r.Key)
	case OpSet:
		a.Say(true)
		if !bytes.Equal(r.Value, told(r.Key)) {
			m.wrong.Add(1)
		}
	case OpGetMany:
		a.Say(true)
		for _, key := range r.Keys {
			a.Items = append(a.Items, Item{Found: true, Value: told(key)})
		}
	case OpIncrement:
		a.Say(true)
		a.Number = r.Delta
	}
	return a
}

func (m *mirror) Together(ctx context.Context, rs []*Request) []Answer {
	answers := make([]Answer, len(rs))
	for i, r := range rs {
		answers[i] = m.Handle(ctx, r)
	}
	return answers
}

// told is the value of a key, "size:anything".
func told(key string) []byte {
	var size int
	fmt.Sscanf(key, "%d:", &size)
	return bytes.Repeat([]byte(key), size/len(key)+1)[:size]
}

// connected makes both ends.
func connected(t testing.TB, h Handler) *Client {
	t.Helper()
	host, driver := ends(t)
	return join(t, host, driver, h)
}

// narrow makes both ends of a socket that takes so little at a time that most
// writes are begun by one goroutine and ended by another.
func narrow(t testing.TB, h Handler) *Client {
	t.Helper()
	host, driver := ends(t)
	must(t, host.SetWriteBuffer(1))
	must(t, driver.SetWriteBuffer(1))
	return join(t, host, driver, h)
}

func join(t testing.TB, host, driver *net.UnixConn, h Handler) *Client {
	t.Helper()
	s, err := NewServer(driver, h)
	must(t, err)
	c, err := NewClient(host)
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	t.Cleanup(func() {
		c.Close()
		if err := await(t, done); err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return c
}

// Callers who leave at any moment, beside others who stay, see their own bytes
// or their context's end, whatever the sizes; and nobody is left out.
func TestNobodyGetsTheBytesOfACallThatWasLeft(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		manner Manner
		make   func(testing.TB, Handler) *Client
	}{
		"inline":                      {Inline, connected},
		"apart":                       {Apart, connected},
		"together":                    {Together, connected},
		"inline over a narrow socket": {Inline, narrow},
		"apart over a narrow socket":  {Apart, narrow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &mirror{manner: way.manner}
			c := way.make(t, m)
			var left, through atomic.Int64
			var callers sync.WaitGroup
			for n := range 24 {
				callers.Go(func() {
					random := rand.New(rand.NewPCG(uint64(n), 7))
					for i := range 250 {
						err := c.checkOne(random, fmt.Sprintf("%d:%d:%d", random.IntN(1<<random.IntN(19)), n, i))
						switch {
						case err == nil:
							through.Add(1)
						case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
							left.Add(1)
						default:
							t.Error(err)
						}
					}
				})
			}
			callers.Wait()
			if m.wrong.Load() > 0 || left.Load() == 0 || through.Load() == 0 {
				t.Errorf("the driver got %d wrong values; %d calls were left, %d came through", m.wrong.Load(), left.Load(), through.Load())
			}
			eventually(t, "every call that was left has been answered", func() bool { return c.pending.Load() == 0 })
			if err := c.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// checkOne makes a call of any kind, whose context may end early.
func (c *Client) checkOne(random *rand.Rand, key string) error {
	ctx, end := hasty(random)
	defer end()
	r := Request{Op: OpGet, Store: 1, Key: key}
	switch random.IntN(4) {
	case 0:
		r.Op, r.Value = OpSet, told(key)
	case 1:
		r = Request{Op: OpGetMany, Store: 1, Keys: []string{"3:" + key, "5:" + key}}
	case 2:
		r.Op, r.Delta = OpIncrement, random.Int64()
	}
	a, _, err := c.Call(ctx, &r)
	switch {
	case err != nil:
		return err
	case a.Status == StatusFailed:
		return fmt.Errorf("%.30s: a call that was not left failed: %s", key, a.Failure.Message)
	case r.Op == OpGet && !bytes.Equal(a.Value, told(key)),
		r.Op == OpIncrement && a.Number != r.Delta,
		r.Op == OpGetMany && (len(a.Items) != 2 || !bytes.Equal(a.Items[0].Value, told(r.Keys[0])) || !bytes.Equal(a.Items[1].Value, told(r.Keys[1]))):
		return fmt.Errorf("%.30s: a foreign answer to operation %d: %.30q", key, r.Op, a.Value)
	}
	return nil
}

// hasty is a context that may end at any moment of a call, or not at all.
func hasty(random *rand.Rand) (context.Context, func()) {
	soon := time.Duration(random.IntN(1000)) * time.Microsecond
	switch random.IntN(6) {
	case 0:
		return context.WithTimeout(context.Background(), soon)
	case 1:
		return lazyctx.WithTimeout(context.Background(), soon+1), func() {}
	case 2:
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(soon, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	case 3:
		return lazyctx.WithTimeout(context.Background(), time.Minute), func() {}
	}
	return context.Background(), func() {}
}

// What a caller was given stays its own, however small, when the slot serves
// others.
func TestWhatACallerWasGivenStaysAsItIs(t *testing.T) {
	t.Parallel()
	c := connected(t, &mirror{manner: Inline})
	var kept []Answer
	call := func(r Request) Answer {
		a, _, err := c.Call(t.Context(), &r)
		must(t, err)
		return a
	}
	for _, key := range []string{"0:", "1:a", "4:b", "9:c", "40:d", "70000:e"} {
		kept = append(kept, call(Request{Op: OpGet, Key: key}))
		kept = append(kept, call(Request{Op: OpGetMany, Keys: []string{key, "2:z"}}))
		kept = append(kept, call(Request{Op: OpPull, Key: key}))
	}
	before := make([]string, len(kept))
	for i, a := range kept {
		before[i] = fmt.Sprintf("%v", a)
	}
	for range 100 {
		call(Request{Op: OpIncrement, Delta: -1})
		call(Request{Op: OpGetMany, Keys: []string{"9:other", "9:another"}})
	}
	for i, a := range kept {
		if now := fmt.Sprintf("%v", a); now != before[i] {
			t.Errorf("%.60s has become %.60s", before[i], now)
		}
	}
}

// A cancellation that is about to be sent when the answer arrives, and the slot
// goes to another call, still names the call that was left.
func TestALateCancellationNamesTheCallThatWasLeft(t *testing.T) {
	t.Parallel()
	c, peer := played(t)
	ctx, cancel := context.WithCancel(context.Background())
	call := c.begin(ctx, Request{Op: OpGet, Key: "k"})
	id := peer.next(t).id
	eventually(t, "the request is written", func() bool { return c.out.settled() })
	c.out.mu.Lock() // the cancellation has to wait
	cancel()
	eventually(t, "the call is left", func() bool { return c.slotOf(id).is(phaseAbandoned) })
	peer.write(t, whole(kindAnswer, uint8(StatusYes), id, "late"))
	eventually(t, "the slot is free", func() bool { return c.slotOf(id).is(phaseFree) })
	next := c.begin(context.Background(), Request{Op: OpGet, Key: "k"})
	eventually(t, "the slot is used again", func() bool { return c.slotOf(id).is(phaseWaiting) })
	c.out.mu.Unlock()
	await(t, call)
	for range 2 {
		f := peer.next(t)
		if f.kind == kindCancel && f.id != id || f.kind == kindRequest && f.id != id+1<<32 {
			t.Errorf("kind %d for %#x", f.kind, f.id)
		}
	}
	peer.write(t, whole(kindAnswer, uint8(StatusYes), id+1<<32, "v"))
	checkValue(t, next, "v")
}
