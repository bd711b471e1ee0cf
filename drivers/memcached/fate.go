package memcached

import "sync/atomic"

// A fate settles between a caller that may leave and the worker that may send:
// what has not been sent when the caller leaves is never sent.
type fate struct{ bits atomic.Uint32 }

const (
	sent = 1 << iota
	left
)

// send is called before the first byte goes out. It is false if the caller has
// left.
func (f *fate) send() bool { return f.bits.Or(sent)&left == 0 }

// leave is called by a caller that waits no longer. It is true if something
// may have been sent.
func (f *fate) leave() (wasSent bool) { return f.bits.Or(left)&sent != 0 }

func (f *fate) hasLeft() bool { return f.bits.Load()&left != 0 }
