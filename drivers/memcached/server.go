package memcached

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// mostWaiting is how many calls may wait for a server.
const mostWaiting = 10_000

// settings is how to speak to any server of a store.
type settings struct {
	username, password string
	tls                *tlsFiles // nil: none

	dialTimeout, stallTimeout time.Duration
	connections               int
}

// A server is one Memcached server: what waits for it, and the lanes over which
// that is sent. Workers do the sending, one for each lane in use, so that a
// caller can leave what gomemcache would not let go of.
type server struct {
	settings
	at         address
	mostAnswer int             // to one batch
	alive      context.Context // done once the store closes
	die        context.CancelFunc

	limit   atomic.Int64 // the largest item, with all that the server adds; 0: not known
	epoch   atomic.Int64 // changes when connections that were made before lead astray
	working sync.WaitGroup

	mu      sync.Mutex // guards below, and changes of epoch
	closed  bool
	health  health
	jobs    backlog[*job]
	lookups backlog[*lookup]
	flights int // under way
	width   int // how many lookups fly together
	idle    []*lane
	lanes   int
	links   map[*link]struct{}
}

func newServer(set settings, at address) *server {
	s := &server{settings: set, at: at, mostAnswer: mostAnswer, width: widest, links: make(map[*link]struct{})}
	s.alive, s.die = context.WithCancel(context.Background())
	return s
}

// A task is what a worker does with a lane.
type task interface{ perform(*lane) }

// enqueue lets something wait for a worker, and sees to it that there is one.
func (s *server) enqueue(push func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return sdk.ErrClosed
	case s.jobs.size()+s.lookups.size() >= mostWaiting:
		return fmt.Errorf("%s: %w: %d calls wait for this server", s.at.name, sdk.ErrOverloaded, mostWaiting)
	}
	if err := s.admit(); err != nil {
		return err
	}
	push()
	s.hire()
	return nil
}

// hire puts an idle lane to work, or a new one, if there is something to do,
// under mu.
func (s *server) hire() {
	if len(s.idle) == 0 && s.lanes == s.connections {
		return
	}
	t := s.next(false)
	if t == nil {
		return
	}
	if n := len(s.idle); n > 0 {
		s.idle[n-1].tasks <- t // it waits for one
		s.idle = s.idle[:n-1]
		return
	}
	s.lanes++
	l := newLane(s)
	l.tasks <- t
	s.working.Go(l.work)
}

// next takes a task out of what waits, under mu. Lookups go first, but for
// every other time, so that neither kind waits for the other's end.
func (s *server) next(lookupsHadTheirTurn bool) task {
	mayFly := s.flights < s.mostFlights()
	if lookupsHadTheirTurn && s.jobs.size() > 0 {
		mayFly = false
	}
	if mayFly {
		if lookups := s.lookups.take(upTo(s.widthNow())); len(lookups) > 0 {
			s.flights++
			return &flight{lookups: lookups}
		}
	}
	c := convoy{}
	switch jobs := s.jobs.take(c.fits); {
	case len(jobs) == 0:
		return nil
	case jobs[0].order != nil:
		return jobs[0]
	default:
		c.jobs = jobs
		return &c
	}
}

// work does one task after the other until the store closes.
func (l *lane) work() {
	for t := range l.tasks {
		for t != nil {
			t.perform(l)
			t = l.server.follow(l, t)
		}
	}
	l.drop()
}

// follow returns the task after t, or lays the lane aside.
func (s *server) follow(l *lane, t task) task {
	f, flew := t.(*flight)
	if flew && len(f.lookups) > 1 {
		runtime.Gosched() // those who have just been answered may ask again, and fly together
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if flew {
		s.flights--
		s.adapt(f)
	}
	if t = s.next(flew); t != nil {
		s.hire() // where more wait than one lane takes
		return t
	}
	if s.closed {
		close(l.tasks)
	} else {
		s.idle = append(s.idle, l)
	}
	return nil
}

// connect makes a connection, and notes how that went.
func (s *server) connect() (*link, error) {
	epoch := s.epoch.Load()
	ctx, cancel := context.WithTimeout(s.alive, s.dialTimeout)
	defer cancel()
	conn, w, err := s.reach(ctx)
	if s.alive.Err() != nil {
		return nil, sdk.ErrClosed
	}
	if err != nil {
		s.fail(epoch, err)
		return nil, s.unavailable(err, "")
	}
	s.limit.Store(w.itemLimit())
	l := &link{Conn: conn, server: s, epoch: epoch, used: time.Now()}
	if !s.reached(epoch, l) {
		return nil, errors.Join(sdk.ErrClosed, conn.Close())
	}
	return l, nil
}

// reach dials and greets.
func (s *server) reach(ctx context.Context) (net.Conn, welcome, error) {
	conn, err := s.dial(ctx, s.at)
	if err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			err = fmt.Errorf("no connection within %v", s.dialTimeout)
		}
		return nil, welcome{}, err
	}
	w, err := s.greet(ctx, conn)
	if err != nil {
		conn.Close()
		return nil, w, err
	}
	return conn, w, nil
}

// unlink forgets a connection that is being closed.
func (s *server) unlink(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, l)
}

// close ends what is under way, all of it for callers that have left, and
// waits for it.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	s.dismiss(fmt.Errorf("%s: %w", s.at.name, sdk.ErrClosed))
	for l := range s.links {
		l.cut()
	}
	for _, l := range s.idle {
		close(l.tasks)
	}
	s.idle = nil
	s.mu.Unlock()
	s.die()
	s.working.Wait()
}
