package fastplane

import (
	"context"
	"time"
)

// deliver is the courier. Its writes wait, for as long as the other end does
// not read.
func (o *outbox) deliver() {
	defer close(o.done)
	for {
		select {
		case buf := <-o.courier:
			o.writeAll(buf)
		case <-o.quit:
			return
		}
	}
}

func (o *outbox) writeAll(buf []byte) {
	for ok := true; ok; buf, ok = o.take() {
		if len(buf) == 0 {
			continue
		}
		if _, err := o.socket.Write(buf); err != nil {
			o.failed(err, nil)
		}
		o.give(buf)
	}
}

// settleStep is how often a closing outbox is looked at.
const settleStep = time.Millisecond

// settle returns when everything is written, or ctx ends.
func (o *outbox) settle(ctx context.Context) {
	for !o.settled() {
		select {
		case <-time.After(settleStep):
		case <-ctx.Done():
			return
		}
	}
}

func (o *outbox) settled() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closed || !o.flushing && len(o.buf) == 0
}
