package fastplane

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/lazyctx"
)

// TestAnIdlePlaneIsAFewGoroutines counts those of the whole process, and so
// runs by itself.
func TestAnIdlePlaneIsAFewGoroutines(t *testing.T) {
	var before int
	eventually(t, "earlier tests are over", func() bool {
		before = runtime.NumGoroutine()
		return stacksOf("fastplane.(*Client)") == "" && stacksOf("fastplane.(*Server)") == ""
	})
	t.Run("", func(t *testing.T) {
		c := connected(t, &mirror{manner: Apart})
		burst(t, c)
		const fixed = 1 + 2 + 3 // this test, the client's reader and courier, the server, its reader and its courier
		eventually(t, "no goroutine is left of the burst", func() bool { return runtime.NumGoroutine() <= before+fixed })
		eventually(t, "no timer runs", func() bool { return c.expiry.armed.Load() == 0 })
	})
	eventually(t, "no goroutine is left of the plane", func() bool { return runtime.NumGoroutine() <= before })
}

// burst is many calls at once, with large values among them.
func burst(t *testing.T, c *Client) {
	var callers sync.WaitGroup
	for i := range 300 {
		callers.Go(func() {
			key := fmt.Sprintf("%d:%d", i%10*maxPart/2, i)
			ctx := lazyctx.WithTimeout(context.Background(), hangGuard)
			if a, _, err := c.Call(ctx, &Request{Op: OpGet, Store: 1, Key: key}); err != nil || string(a.Value) != string(told(key)) {
				t.Errorf("%s: %v", key, err)
			}
			if _, _, err := c.Call(ctx, &Request{Op: OpSet, Store: 1, Key: key, Value: told(key)}); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		})
	}
	callers.Wait()
	c.expiry.timer.Reset(0) // as if the deadlines, which nobody waits for, were over
}

// What a burst needed is given back while small calls go on.
func TestBuffersShrinkAfterABurst(t *testing.T) {
	t.Parallel()
	host, driver := ends(t)
	s, err := NewServer(driver, &shelf{values: map[string][]byte{}})
	must(t, err)
	c, err := NewClient(host)
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	large := make([]byte, 16<<20)
	call := func(r Request) {
		_, _, err := c.Call(t.Context(), &r)
		must(t, err)
	}
	call(Request{Op: OpSet, Key: "large", Value: large})
	call(Request{Op: OpGet, Key: "large"})
	call(Request{Op: OpDelete, Key: "large"})
	for range calmReads + 2 {
		call(Request{Op: OpGet, Key: "small"})
	}
	c.Close()
	must(t, await(t, done))
	if n := len(c.in.buf); n != smallBuffer {
		t.Errorf("the host reads into %d bytes", n)
	}
	if n := len(s.in.buf); n != smallBuffer {
		t.Errorf("the driver reads into %d bytes", n)
	}
	for name, o := range map[string]*outbox{"host": c.out, "driver": s.out} {
		if n := max(cap(o.buf), cap(o.spare)); n > keptBuffer {
			t.Errorf("the %s keeps %d bytes for writing", name, n)
		}
	}
	for _, slot := range c.slots[:c.made.Load()] {
		if slot.body != nil || slot.parts != nil {
			t.Errorf("slot %d keeps an answer of %d bytes", slot.number, len(slot.body))
		}
	}
}

// The deadlines of calls that have ended wake nobody.
func TestATimerRunsOnlyWhileADeadlineIsAwaited(t *testing.T) {
	t.Parallel()
	c, peer := played(t)
	call := func(timeout time.Duration) (<-chan result, uint64) {
		call := c.begin(lazyctx.WithTimeout(context.Background(), timeout), Request{Op: OpGet, Key: "k"})
		return call, peer.next(t).id
	}
	short, id := call(20 * time.Millisecond)
	peer.write(t, whole(kindAnswer, uint8(StatusYes), id, "v"))
	checkValue(t, short, "v")
	eventually(t, "the timer has run out", func() bool { return c.expiry.armed.Load() == 0 })

	long, id := call(time.Hour)
	if c.expiry.armed.Load() == 0 {
		t.Error("nobody watches the deadline")
	}
	shorter, shorterID := call(time.Millisecond)
	if r := await(t, shorter); r.err == nil {
		t.Error("it was not ended")
	}
	eventually(t, "the longer deadline is watched", func() bool { return c.expiry.armed.Load() > int64(time.Minute) })
	peer.next(t) // the cancellation
	peer.write(t, whole(kindAnswer, uint8(StatusYes), shorterID, "late"), whole(kindAnswer, uint8(StatusYes), id, "v"))
	checkValue(t, long, "v")
}
