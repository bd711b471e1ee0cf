package lockcheck

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/bootclock"
)

// An assignment is the first line that a worker process reads.
type assignment struct {
	Process int
	Load    Load
	// Lazy has the worker tell of events in batches. It is for runs without
	// faults: what a killed worker had not told is lost.
	Lazy bool
}

// Commands are further lines. The end of the input is the end of the work.
const (
	commandPark   = "park"
	commandGo     = "go"
	commandKill   = "kill driver"
	commandFreeze = "freeze driver"
	commandThaw   = "thaw driver"
)

// lazily is how often a lazy worker tells of events.
const lazily = 50 * time.Millisecond

// Work is what a worker process does: it reads its load from in, contends for
// the locks of a store, and tells of all that it sees on out, until in ends. A
// Run starts it.
func Work(ctx context.Context, m *cache.CacheManager, store string, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	first, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no assignment: %w", err)
	}
	var a assignment
	if err := json.Unmarshal(first, &a); err != nil {
		return fmt.Errorf("assignment: %w", err)
	}
	repository, err := m.Store(store)
	if err != nil {
		return err
	}
	mouth := newMouth(out, a.Lazy)
	defer mouth.close()
	mouth.tell(event{Is: hello, At: bootclock.Now(), Until: time.Duration(time.Now().UnixNano())})
	c := newCrew(a.Load, takerOf(repository.(cache.Locker)), bootclock.Now, mouth.tell)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		c.obey(lines, driverOf(m, store))
	}()
	c.work(ctx, a.Process)
	return nil
}

// obey follows the controller's commands until there are no more.
func (c *crew) obey(lines *bufio.Reader, driver func(syscall.Signal)) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		switch strings.TrimSpace(line) {
		case commandPark:
			c.park.Store(true)
		case commandGo:
			c.park.Store(false)
			select {
			case c.goOn <- struct{}{}:
			default: // it goes already
			}
		case commandKill:
			driver(syscall.SIGKILL)
		case commandFreeze:
			driver(syscall.SIGSTOP)
		case commandThaw:
			driver(syscall.SIGCONT)
		}
	}
}

// driverOf signals the process that serves a store, whichever it is by then.
func driverOf(m *cache.CacheManager, store string) func(syscall.Signal) {
	stores := m.Stores()
	of := func(s cache.StoreInfo) bool { return s.Name == store || store == "" && s.Default }
	name := stores[slices.IndexFunc(stores, of)].Driver
	return func(s syscall.Signal) {
		for _, d := range m.Drivers() {
			if d.Name == name && d.PID != 0 {
				_ = syscall.Kill(d.PID, s) // it may just have ended
			}
		}
	}
}

// A mouth writes events as lines.
type mouth struct {
	stop func()

	mu  sync.Mutex // guards below
	out *bufio.Writer
	// lazy keeps events in out for a while.
	lazy bool
}

func newMouth(out io.Writer, lazy bool) *mouth {
	m := &mouth{stop: func() {}, out: bufio.NewWriterSize(out, 64<<10), lazy: lazy}
	if lazy {
		ended, done := make(chan struct{}), make(chan struct{})
		m.stop = func() { close(ended); <-done }
		go func() {
			defer close(done)
			m.flushUntil(ended)
		}()
	}
	return m
}

func (m *mouth) flushUntil(ended <-chan struct{}) {
	ticker := time.NewTicker(lazily)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			m.flush()
		case <-ended:
			return
		}
	}
}

// tell writes an event. A controller that is gone hears nothing: the end of the
// input ends the work.
func (m *mouth) tell(e event) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // numbers and texts
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _ = m.out.Write(append(line, '\n'))
	if !m.lazy {
		_ = m.out.Flush()
	}
}

func (m *mouth) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.out.Flush()
}

func (m *mouth) close() {
	m.stop()
	m.flush()
}
