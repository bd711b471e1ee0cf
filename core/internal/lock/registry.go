package lock

import (
	"container/list"
	"sync"
	"time"
)

// A place is one lock inside this process.
type place struct {
	space any
	key   string
}

type waitLimit = <-chan time.Time

// A registry has a queue for every place that is taken, and none for others:
// locks that nobody uses do not accumulate. A queue holds the waiters, in order.
type registry struct {
	mu     sync.Mutex
	queues map[place]*list.List
}

func newRegistry() *registry { return &registry{queues: make(map[place]*list.List)} }

type waiter struct {
	granted chan struct{} // closed when it is this waiter's turn
	element *list.Element // nil once granted; guarded by the registry's mutex
}

// join takes a free place, and returns nil; or else queues.
func (r *registry) join(id place) *waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	queue, taken := r.queues[id]
	if !taken {
		r.queues[id] = list.New()
		return nil
	}
	w := &waiter{granted: make(chan struct{})}
	w.element = queue.PushBack(w)
	return w
}

// quit leaves the queue; a waiter whose turn has come passes it on.
func (r *registry) quit(id place, w *waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.element != nil {
		r.queues[id].Remove(w.element)
		return
	}
	r.next(id)
}

// pass gives the place to the next waiter, or frees it.
func (r *registry) pass(id place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next(id)
}

func (r *registry) next(id place) {
	queue := r.queues[id]
	first := queue.Front()
	if first == nil {
		delete(r.queues, id)
		return
	}
	w := queue.Remove(first).(*waiter)
	w.element = nil
	close(w.granted)
}

func (r *registry) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queues)
}
