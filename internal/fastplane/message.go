package fastplane

import "context"

// A message is a body on its way out: head and then tail, which are cut as they
// go.
type message struct {
	kind       kind
	code       uint8
	id         uint64
	head, tail []byte
}

// send adds the frames of one body, head and tail together, and flushes. A
// large one goes in parts, each of which lets others in before it. begun says
// whether the first part went out.
func (o *outbox) send(ctx context.Context, m message, others bool) (begun bool, err error) {
	room := roomForFrames
	for k := m.kind; ; k = kindMore {
		left := len(m.head) + len(m.tail)
		if left > maxPart {
			room = roomForParts
		}
		flush, err := o.add(ctx, room, func(b []byte) []byte { return m.appendPart(b, k) })
		if err != nil {
			return k == kindMore, err
		}
		if flush {
			o.flush(others)
		}
		if closed := len(m.head)+len(m.tail) == left; closed || left <= maxPart {
			return true, nil // a closed outbox takes nothing
		}
	}
}

func (m *message) appendPart(b []byte, k kind) []byte {
	size := len(m.head) + len(m.tail)
	n := min(size, maxPart)
	b = appendHeader(b, k, m.code, m.id, n, size)
	fromHead := min(n, len(m.head))
	fromTail := n - fromHead
	b = append(append(b, m.head[:fromHead]...), m.tail[:fromTail]...)
	m.head, m.tail = m.head[fromHead:], m.tail[fromTail:]
	return b
}
