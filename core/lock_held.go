package core

import (
	"context"
	"sync/atomic"
)

// A lockID is a physical lock: equal for stores that share their locks.
type lockID struct {
	strategy string
	space    any
	key      string
}

// heldLocks is the chain of locks held by the blocks around a context.
type heldLocks struct {
	id    lockID
	ended atomic.Bool
	outer *heldLocks
}

type heldKey struct{}

// markHeld marks ctx until unmark is called, when the block has ended.
func markHeld(ctx context.Context, id lockID) (marked context.Context, unmark func()) {
	outer, _ := ctx.Value(heldKey{}).(*heldLocks)
	h := &heldLocks{id: id, outer: outer}
	return context.WithValue(ctx, heldKey{}, h), func() { h.ended.Store(true) }
}

// isHeld reports whether a block around ctx holds the lock and still runs.
func isHeld(ctx context.Context, id lockID) bool {
	h, _ := ctx.Value(heldKey{}).(*heldLocks)
	for ; h != nil; h = h.outer {
		if h.id == id && !h.ended.Load() {
			return true
		}
	}
	return false
}
