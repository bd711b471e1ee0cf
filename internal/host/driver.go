package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// A Driver runs one driver: one process at a time, and any number of stores in
// it. The process starts with the first use and is started again when it dies,
// with all its stores opened again before any call meets it. All methods may be
// called concurrently.
//
// Between a crash and the end of the first restart calls wait, within their
// context. If that restart fails, or the process dies again before it has been
// healthy for a minute, calls fail at once with wire.ErrDriverUnavailable until
// a start succeeds; starts are then tried with growing pauses.
type Driver struct {
	spec   Spec
	log    *slog.Logger
	pace   pace
	launch func(context.Context) (*session, error)

	// current is where calls go. While it is nil they wait or fail; mu's fields
	// say which.
	current atomic.Pointer[session]
	silence atomic.Pointer[func() string] // what the start under way waits for; nil without one

	mu       sync.Mutex
	state    State
	since    time.Time
	lastErr  error
	patient  bool      // calls wait for the start that is under way
	due      time.Time // when the next start is tried, in StateBackoff
	failures int       // failed starts and crashes so far
	starts   int       // successful ones
	held     *session  // what the supervisor watches, published or not
	stores   map[*RemoteStore]struct{}
	changed  chan struct{}      // closed, and replaced, with every change above
	demand   chan struct{}      // holds one: somebody wants a start although there are no stores
	end      context.CancelFunc // ends the supervisor; nil before the first use
	ended    chan struct{}      // closed when it has ended
	stopped  chan struct{}      // closed when Close is through
}

// pace holds the driver's periods; tests shorten them.
type pace struct {
	start        time.Duration // one start, up to Describe
	reopen       time.Duration // opening the stores again
	health       time.Duration // between two signs of life
	answer       time.Duration // for one sign of life
	misses       int           // this many in a row are a frozen driver
	firstPause   time.Duration // between two starts
	longestPause time.Duration
	healthy      time.Duration // after that the pauses begin anew
	stop         time.Duration // a graceful stop
	heal         time.Duration // between two attempts to open a store that failed to reopen
}

func defaultPace(spec Spec) pace {
	return pace{
		start:        spec.startTimeout(),
		reopen:       5 * time.Second,
		health:       5 * time.Second,
		answer:       2 * time.Second,
		misses:       3,
		firstPause:   100 * time.Millisecond,
		longestPause: 30 * time.Second,
		healthy:      time.Minute,
		stop:         5 * time.Second,
		heal:         time.Second,
	}
}

// New makes a driver. It starts no process and checks nothing.
func New(spec Spec) *Driver {
	d := &Driver{
		spec:    spec,
		log:     spec.logger(),
		pace:    defaultPace(spec),
		state:   StateStopped,
		since:   time.Now(),
		stores:  map[*RemoteStore]struct{}{},
		changed: make(chan struct{}),
		demand:  make(chan struct{}, 1),
		ended:   make(chan struct{}),
		stopped: make(chan struct{}),
	}
	d.launch = func(ctx context.Context) (*session, error) {
		defer d.silence.Store(nil)
		in, err := launch(ctx, d.spec, d.log, func(says func() string) { d.silence.Store(&says) })
		if err != nil {
			return nil, err
		}
		return newSession(in), nil
	}
	return d
}

// Describe returns what the driver's process says of itself and starts it if it
// doesn't run. A start that fails is a *StartError.
func (d *Driver) Describe(ctx context.Context) (Description, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	s, err := d.acquire(ctx, nil)
	if err != nil {
		return Description{}, err
	}
	return s.desc, nil
}

// Open opens a store in the driver's process, and starts that if it doesn't
// run. The store is opened again after every restart, with the same options,
// which nobody may change any more. Options that the driver refuses are an
// error that holds an *sdk.OptionsError.
func (d *Driver) Open(ctx context.Context, store string, options map[string]any) (*RemoteStore, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	r := newRemoteStore(d, store, options)
	for sends := 1; ; sends++ {
		s, err := d.acquire(ctx, nil)
		if err != nil {
			return nil, err
		}
		opened, err := s.open(ctx, store, options)
		if err == nil && d.admitStore(r, s, opened) {
			return r, nil
		}
		if err != nil && lost(err) == nil {
			return nil, fmt.Errorf("open store %s: %w", store, err)
		}
		if err == nil {
			err = errors.New("its process ended while the store was opened")
		}
		d.doubt(s, err)
		if sends == maxSends {
			return nil, d.unavailable(err)
		}
	}
}

// admitStore makes r one of the driver's stores, unless the process it was
// opened in is gone.
func (d *Driver) admitStore(r *RemoteStore, s *session, opened Store) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != s || d.state == StateClosed {
		return false
	}
	r.bind(&binding{session: s, store: opened})
	d.stores[r] = struct{}{}
	return true
}

// Status is a snapshot.
func (d *Driver) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	status := Status{
		State:    d.state,
		Restarts: max(0, d.starts-1),
		Since:    d.since,
		LastErr:  d.lastErr,
		Stores:   len(d.stores),
	}
	if d.held != nil {
		status.PID = d.held.pid
	}
	return status
}

// Close closes the stores, lets the driver shut down and kills it if that takes
// longer than ctx or five seconds. Calls that are running end first, within
// that time; calls that wait, and later ones, fail with wire.ErrClosed. When
// Close returns the process is gone. Its error tells what was not closed
// properly.
func (d *Driver) Close(ctx context.Context) error {
	end, first := d.beginClose()
	if !first {
		return d.awaitClosed(ctx)
	}
	defer close(d.stopped)
	if end == nil {
		return nil
	}
	end()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), d.pace.stop+killPatience)
	defer cancel()
	if !within(patience, d.ended) {
		return fmt.Errorf("driver %s does not stop: something hangs in a function that OnRestart was given", d.spec.Name)
	}
	return d.stopHeld(ctx)
}

func (d *Driver) beginClose() (end context.CancelFunc, first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == StateClosed {
		return nil, false
	}
	d.current.Store(nil)
	d.enter(StateClosed)
	return d.end, true
}

func (d *Driver) awaitClosed(ctx context.Context) error {
	select {
	case <-d.stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("driver %s is still stopping: %w", d.spec.Name, ctx.Err())
	}
}

// bounded gives a call that has no deadline one.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, defaultDeadline)
}

// defaultDeadline bounds calls whose context has no deadline.
const defaultDeadline = 30 * time.Second

// closedError is for calls to a closed driver.
func (d *Driver) closedError() error {
	return fmt.Errorf("driver %s: %w", d.spec.Name, wire.ErrClosed)
}
