package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

const (
	// maxQueue is how many calls may wait for a lane.
	maxQueue = 1 << 16
	// maxBatch is how many calls, and maxBatchBytes about how many bytes of
	// theirs, go out together.
	maxBatch      = 512
	maxBatchBytes = 256 << 10
)

// A line makes pipelines of concurrent calls. A call that finds a lane free
// takes it and does its own work, without another goroutine in between. Calls
// that find none wait; whoever gives a lane back hands it to a worker, which
// sends all that wait together, and goes on until none does.
type line struct {
	newLane func() *lane
	most    int // lanes
	room    int // for calls that wait

	workers sync.WaitGroup

	mu     sync.Mutex // guards below
	free   []*lane    // none while a request waits
	lanes  []*lane    // all that were made
	queue  []*request
	closed bool
}

// A request is a call that waits for a lane, or for its answer.
type request struct {
	cmds  []redis.Cmder
	bytes int
	done  chan struct{} // gets one value when sent and the commands' errors are set
	sent  bool
	state atomic.Int32
	batch *batch // set by a worker before the state becomes taken
}

const (
	waiting int32 = iota
	taken
	abandoned
)

// A batch is what a lane has under way for requests. When the last of their
// callers has gone, it is ended.
type batch struct {
	lane    *lane
	mu      sync.Mutex // guards below
	callers int
	over    bool
}

// do sends the commands as one piece and waits for the answers. Its result is
// that of lane.exchange; an error says that nothing was sent.
func (l *line) do(ctx context.Context, cmds ...redis.Cmder) (sent bool, err error) {
	l.mu.Lock()
	if ln := l.takeFree(); ln != nil {
		l.mu.Unlock()
		sent = ln.watched(ctx, cmds...)
		l.giveBack(ln)
		return sent, nil
	}
	r, err := l.join(cmds)
	l.mu.Unlock()
	if err != nil {
		return false, err
	}
	select {
	case <-r.done:
		return r.sent, nil
	case <-ctx.Done():
	}
	select {
	case <-r.done:
		return r.sent, nil
	default:
		return r.abandon(), ctx.Err()
	}
}

// takeFree returns a lane, if there is one or may be another. The caller holds
// the mutex.
func (l *line) takeFree() *lane {
	if n := len(l.free); n > 0 {
		ln := l.free[n-1]
		l.free = l.free[:n-1]
		return ln
	}
	if len(l.lanes) < l.most && !l.closed {
		ln := l.newLane()
		l.lanes = append(l.lanes, ln)
		return ln
	}
	return nil
}

// join queues the commands. The caller holds the mutex, and may return before
// the commands are sent: they keep nothing of what it was given.
func (l *line) join(cmds []redis.Cmder) (*request, error) {
	if l.closed {
		return nil, sdk.ErrClosed
	}
	if len(l.queue) >= l.room {
		l.queue = compact(l.queue)
	}
	if len(l.queue) >= l.room {
		return nil, fmt.Errorf("%w: %d calls are waiting for the server", sdk.ErrOverloaded, l.room)
	}
	r := &request{cmds: cmds, done: make(chan struct{}, 1)}
	for _, cmd := range cmds {
		r.bytes += own(cmd.Args())
	}
	l.queue = append(l.queue, r)
	return r, nil
}

// own replaces the slices among args by copies and returns about how long args
// are.
func own(args []any) (size int) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case []byte:
			args[i] = bytes.Clone(arg)
			size += len(arg)
		case string:
			size += len(arg)
		}
	}
	return size
}

func compact(queue []*request) []*request {
	kept := queue[:0]
	for _, r := range queue {
		if r.state.Load() == waiting {
			kept = append(kept, r)
		}
	}
	clear(queue[len(kept):])
	return kept
}

// giveBack frees a lane, or lets a worker go on with it.
func (l *line) giveBack(ln *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 || l.closed {
		l.free = append(l.free, ln)
		return
	}
	l.workers.Add(1)
	go l.work(ln)
}

// work sends what waits, until nothing does.
func (l *line) work(ln *lane) {
	defer l.workers.Done()
	var cmds []redis.Cmder
	for {
		requests := l.next(ln)
		if requests == nil {
			return
		}
		cmds = cmds[:0]
		for _, r := range requests {
			cmds = append(cmds, r.cmds...)
		}
		b := requests[0].batch
		// Each caller has a context of its own; when the last of them has gone,
		// the batch is interrupted.
		sent := ln.exchange(context.Background(), cmds...)
		b.end()
		for _, r := range requests {
			r.sent = sent
			r.done <- struct{}{}
		}
		clear(cmds)
		runtime.Gosched() // those who have their answer may have another question
	}
}

// next takes requests for a batch, or frees the lane if there are none.
func (l *line) next(ln *lane) []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var requests []*request
	b := &batch{lane: ln}
	b.mu.Lock()
	defer b.mu.Unlock()
	n, size := 0, 0
	for _, r := range l.queue {
		if len(requests) == maxBatch || size > maxBatchBytes {
			break
		}
		n++
		r.batch = b
		if r.state.CompareAndSwap(waiting, taken) {
			requests = append(requests, r)
			size += r.bytes
		}
	}
	rest := copy(l.queue, l.queue[n:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	b.callers = len(requests)
	if len(requests) == 0 {
		l.free = append(l.free, ln)
	}
	return requests
}

// abandon leaves a request whose caller has gone, and says whether it may have
// been sent.
func (r *request) abandon() (sent bool) {
	if r.state.CompareAndSwap(waiting, abandoned) {
		return false
	}
	r.batch.leave()
	return true
}

func (b *batch) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.callers--
	if b.callers == 0 && !b.over {
		b.lane.interrupt()
	}
}

func (b *batch) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.lane.settle(nil)
}

func (l *line) rest(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var closed []*lane
	l.free, closed = parted(l.free, since)
	l.lanes = slices.DeleteFunc(l.lanes, func(ln *lane) bool { return slices.Contains(closed, ln) })
}

// close ends the lanes. What their users have abandoned is interrupted.
func (l *line) close() error {
	l.mu.Lock()
	l.closed = true
	for _, ln := range l.lanes {
		ln.interrupt()
	}
	l.mu.Unlock()
	l.workers.Wait()
	var errs []error
	for _, ln := range l.lanes {
		errs = append(errs, ln.client.Close())
	}
	return errors.Join(errs...)
}
