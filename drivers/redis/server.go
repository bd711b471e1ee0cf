package redis

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// settings is how to speak to any server of a store.
type settings struct {
	username, password string
	secrets            []string // not to be repeated in errors
	db                 int
	clientName         string
	tls                *tlsFiles // nil: none

	dialTimeout, stallTimeout time.Duration
	pipelines, poolSize       int
}

// A server is one Redis server: what is sent to it, and over which connections.
type server struct {
	settings
	name         string // in errors: its address, or the name that Sentinel knows
	connect      func(ctx context.Context) (net.Conn, error)
	mustBeMaster bool

	// epoch changes when connections that were made before lead astray.
	epoch atomic.Int64

	line line
	pool pool
}

func newServer(s settings, name string, connect func(context.Context) (net.Conn, error)) *server {
	srv := &server{settings: s, name: name, connect: connect}
	srv.line.newLane = func() *lane { return newLane(srv, lineBuffer) }
	srv.line.most, srv.line.room = s.pipelines, maxQueue
	srv.pool.newLane = func() *lane { return newLane(srv, poolBuffer) }
	srv.pool.places = make(chan struct{}, s.poolSize)
	for range s.poolSize {
		srv.pool.places <- struct{}{}
	}
	return srv
}

// together sends small commands with those of other callers. Its result is
// that of lane.exchange; an error says that nothing was sent, or that ctx has
// ended.
func (s *server) together(ctx context.Context, cmds ...redis.Cmder) (sent bool, err error) {
	return s.line.do(ctx, cmds...)
}

// apart sends commands that are large or slow over a connection of their own.
func (s *server) apart(ctx context.Context, cmds ...redis.Cmder) (sent bool, err error) {
	ln, err := s.pool.take(ctx)
	if err != nil {
		return false, err
	}
	defer s.pool.giveBack(ln)
	return ln.watched(ctx, cmds...), nil
}

// rest closes connections that nobody has used since.
func (s *server) rest(since time.Time) {
	s.line.rest(since)
	s.pool.rest(since)
}

func (s *server) close() error { return errors.Join(s.line.close(), s.pool.close()) }

const (
	lineBuffer = 64 << 10
	poolBuffer = 32 << 10
)

// A pool lends lanes to one user each, those first that are connected.
type pool struct {
	newLane func() *lane
	places  chan struct{} // one value for each lane that may be lent

	mu   sync.Mutex // guards below
	free []*lane
}

func (p *pool) take(ctx context.Context) (*lane, error) {
	select {
	case <-p.places:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.free)
	if n == 0 {
		return p.newLane(), nil
	}
	ln := p.free[n-1]
	p.free = p.free[:n-1]
	return ln, nil
}

func (p *pool) giveBack(ln *lane) {
	p.mu.Lock()
	p.free = append(p.free, ln)
	p.mu.Unlock()
	p.places <- struct{}{}
}

func (p *pool) rest(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free, _ = parted(p.free, since)
}

// parted closes the lanes that were last used before since.
func parted(free []*lane, since time.Time) (kept, closed []*lane) {
	for _, ln := range free {
		if ln.lastUsed().After(since) {
			kept = append(kept, ln)
			continue
		}
		ln.client.Close()
		closed = append(closed, ln)
	}
	return kept, closed
}

// close is called when no lane is lent.
func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, ln := range p.free {
		errs = append(errs, ln.client.Close())
	}
	return errors.Join(errs...)
}
