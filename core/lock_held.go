package core

import (
	"context"
	"sync/atomic"

	"github.com/cachewright/cachewright/core/internal/lock"
)

// A lockID is a physical lock: equal for stores that share their locks.
type lockID struct {
	strategy string
	space    any
	key      string
}

// A heldLock marks the context of its block. Blocks inside blocks make a chain.
type heldLock struct {
	lock.Held
	id    lockID
	key   string // as the caller gave it
	ended atomic.Bool
	outer *heldLock
}

type heldKey struct{}

// innermost is the lock of the nearest block around ctx.
func innermost(ctx context.Context) *heldLock {
	h, _ := ctx.Value(heldKey{}).(*heldLock)
	return h
}

// isHeld reports whether a block around ctx holds the lock and still runs.
func isHeld(ctx context.Context, id lockID) bool {
	for h := innermost(ctx); h != nil; h = h.outer {
		if h.id == id && !h.ended.Load() {
			return true
		}
	}
	return false
}

// block makes the context of the lock's block, which ends with cause
// ErrLockLost when the lock is lost. ended is called when the block is over and
// reports whether it was.
func (h *heldLock) block(ctx context.Context) (block context.Context, ended func() (lost bool)) {
	block = context.WithValue(ctx, heldKey{}, h)
	if h.Watch == nil {
		return block, func() bool { h.ended.Store(true); return false }
	}
	block, cancel := context.WithCancelCause(block)
	h.Watch(func() { cancel(ErrLockLost) })
	return block, func() bool {
		h.ended.Store(true)
		defer cancel(nil)
		return h.Lost()
	}
}

// FencingToken is the fencing token of the innermost block around ctx whose
// lock has one: strategy exclusive. It rises strictly from holder to holder of
// one key, so that whatever the block writes to can refuse an earlier one. ok is
// false outside such a block.
func FencingToken(ctx context.Context) (token uint64, ok bool) {
	return fence(ctx, func(*heldLock) bool { return true })
}

// FencingTokenFor is FencingToken for the lock of this key, as it was given to
// Lock.
func FencingTokenFor(ctx context.Context, key string) (token uint64, ok bool) {
	return fence(ctx, func(h *heldLock) bool { return h.key == key })
}

func fence(ctx context.Context, wanted func(*heldLock) bool) (token uint64, ok bool) {
	for h := innermost(ctx); h != nil; h = h.outer {
		if h.Fence != 0 && !h.ended.Load() && wanted(h) {
			return h.Fence, true
		}
	}
	return 0, false
}
