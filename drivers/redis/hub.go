package redis

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// linger is how long a subscription outlives its last waiter, who may be
	// back at once.
	linger = 2 * time.Second
	// silence is when a subscription without messages is tested by a ping.
	silence = 5 * time.Second
)

// A hub has one subscription for all waiters of a store, while there are any.
type hub struct {
	subscribe func() *redis.PubSub
	changed   chan struct{} // gets a value when topics come or go
	running   sync.WaitGroup
	stop      context.CancelFunc
	stopped   context.Context

	mu     sync.Mutex // guards below
	topics map[string]*topic
	active bool // the goroutine runs
}

// A topic is a channel that waiters listen to. Its fields are guarded by the
// hub's mutex, but for the channels' ends.
type topic struct {
	name    string
	waiters int
	empty   time.Time     // since when there is no waiter
	heard   chan struct{} // closed while messages arrive
	woken   chan struct{} // closed at the next message
}

func newHub(subscribe func() *redis.PubSub) *hub {
	h := &hub{subscribe: subscribe, changed: make(chan struct{}, 1), topics: make(map[string]*topic)}
	h.stopped, h.stop = context.WithCancel(context.Background())
	return h
}

// join adds a waiter. Each join needs a leave.
func (h *hub) join(name string) *topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[name]
	if t == nil {
		t = &topic{name: name, heard: make(chan struct{}), woken: make(chan struct{})}
		h.topics[name] = t
		h.notify()
	}
	t.waiters++
	if !h.active {
		h.active = true
		h.running.Go(h.run)
	}
	return t
}

func (h *hub) leave(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.waiters--
	t.empty = time.Now()
}

func (h *hub) notify() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// await waits until the topic's messages arrive, but not for long.
func (h *hub) await(ctx context.Context, t *topic, limit time.Duration) (heard bool) {
	h.mu.Lock()
	ready := t.heard
	h.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ready:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// next is closed at the topic's next message.
func (h *hub) next(t *topic) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return t.woken
}

// run has one subscription after the other, as long as there are topics.
func (h *hub) run() {
	for failures := 1; ; failures++ {
		start := time.Now()
		h.session()
		if h.rest() {
			return
		}
		if time.Since(start) > silence {
			failures = 1
		}
		if sleep(h.stopped, backoff(failures)) != nil {
			return
		}
	}
}

// rest is between two subscriptions: nobody hears anything, and everybody had
// better look. It reports whether no further one is needed.
func (h *hub) rest() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		select {
		case <-t.heard:
			t.heard = make(chan struct{})
		default:
		}
		t.wake()
	}
	h.active = len(h.topics) > 0
	return !h.active
}

func (t *topic) wake() {
	close(t.woken)
	t.woken = make(chan struct{})
}

// session keeps one subscription until it fails, or no topic is left.
func (h *hub) session() {
	sub := h.subscribe()
	failed := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		defer close(failed)
		receive(h.stopped, sub, h.deliver)
	})
	defer listening.Wait()
	defer sub.Close() // ends listen
	subscribed := make(map[string]bool)
	for {
		come, gone, left := h.difference(subscribed)
		if left == 0 {
			return
		}
		if len(gone) > 0 && sub.Unsubscribe(h.stopped, gone...) != nil {
			return
		}
		if len(come) > 0 && sub.Subscribe(h.stopped, come...) != nil {
			return
		}
		timer := time.NewTimer(linger)
		select {
		case <-h.changed:
		case <-timer.C:
		case <-failed:
			return
		case <-h.stopped.Done():
			return
		}
		timer.Stop()
	}
}

// difference brings subscribed up to date and returns what changes. Topics
// that nobody has waited for lately are gone.
func (h *hub) difference(subscribed map[string]bool) (come, gone []string, left int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, t := range h.topics {
		switch {
		case t.waiters == 0 && time.Since(t.empty) >= linger:
			delete(h.topics, name)
			if subscribed[name] {
				gone = append(gone, name)
			}
			delete(subscribed, name)
		case !subscribed[name]:
			come = append(come, name)
			subscribed[name] = true
		}
	}
	return come, gone, len(h.topics)
}

func (h *hub) deliver(received any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch m := received.(type) {
	case *redis.Subscription:
		if t := h.topics[m.Channel]; t != nil && m.Kind == "subscribe" {
			select {
			case <-t.heard:
			default:
				close(t.heard)
			}
			t.wake() // it may have missed something
		}
	case *redis.Message:
		if t := h.topics[m.Channel]; t != nil {
			t.wake()
		}
	}
}

// close ends the subscription. Nobody waits any more.
func (h *hub) close() {
	h.stop()
	h.running.Wait()
}
