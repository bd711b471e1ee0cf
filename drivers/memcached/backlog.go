package memcached

import (
	"context"
	"slices"
)

// A waiter is a caller that waits for a worker, and may leave.
type waiter struct {
	fate fate
	done chan struct{}

	// under the server's mu:
	taken   bool // by a worker
	counted bool // among those who have left the backlog
}

func newWaiter() waiter { return waiter{done: make(chan struct{})} }

func (w *waiter) itself() *waiter { return w }

// wait waits for the worker, or the end of ctx. What has been done counts.
func (w *waiter) wait(ctx context.Context) (done bool) {
	select {
	case <-w.done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// A backlog is who waits, first come first served. Those who leave are passed
// over, and forgotten before many of them have gathered.
type backlog[T interface{ itself() *waiter }] struct {
	waiting []T
	next    int // all before it have been taken
	gone    int // how many of the others have left
}

func (b *backlog[T]) push(t T) { b.waiting = append(b.waiting, t) }

// size counts those who wait.
func (b *backlog[T]) size() int { return len(b.waiting) - b.next - b.gone }

// take removes those who have waited longest, one after the other, as long as
// they fit.
func (b *backlog[T]) take(fits func(T) bool) []T {
	var taken []T
	for b.next < len(b.waiting) {
		t := b.waiting[b.next]
		w := t.itself()
		stays := !w.counted && !w.fate.hasLeft()
		if stays && !fits(t) {
			break
		}
		clear(b.waiting[b.next : b.next+1])
		b.next++
		w.taken = true
		if stays {
			taken = append(taken, t)
		}
		if w.counted {
			b.gone--
		}
	}
	if b.next == len(b.waiting) {
		b.waiting, b.next = b.waiting[:0], 0
	}
	return taken
}

// forget notes that somebody has left.
func (b *backlog[T]) forget(t T) {
	w := t.itself()
	if w.taken || w.counted {
		return
	}
	w.counted = true
	b.gone++
	if b.gone > 32+(len(b.waiting)-b.next)/2 {
		b.waiting = slices.DeleteFunc(b.waiting[b.next:], func(t T) bool { return t.itself().counted })
		b.next, b.gone = 0, 0
	}
}
