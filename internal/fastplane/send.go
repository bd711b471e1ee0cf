package fastplane

import "context"

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
