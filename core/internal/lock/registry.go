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
	queues map[place]*queue
}

type queue struct {
	list.List
	since time.Time // nobody else but this process has had the place
}

func newRegistry() *registry { return &registry{queues: make(map[place]*queue)} }

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
		r.queues[id] = newQueue()
		return nil
	}
	w := &waiter{granted: make(chan struct{})}
	w.element = queue.PushBack(w)
	return w
}

func newQueue() *queue { return &queue{since: time.Now()} }

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

// streak is how long a taken place has stayed inside this process.
func (r *registry) streak(id place) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.queues[id].since)
}

// endStreak is for whoever has the place and finds, or lets, others have the
// lock.
func (r *registry) endStreak(id place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues[id].since = time.Now()
}

func (r *registry) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queues)
}
