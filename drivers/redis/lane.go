package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// errInterrupted ends an exchange that nobody waits for any more.
var errInterrupted = errors.New("interrupted")

// A lane is one connection to a server, for one user at a time. Connecting,
// the greeting and the protocol are go-redis's: a client whose pool has one
// place. A lane adds what that client can't do: an exchange can be interrupted
// at once, and after a failure it is known whether anything was sent.
type lane struct {
	server *server
	client *redis.Client
	sent   bool // by the current exchange; its user's

	mu          sync.Mutex // guards below
	link        *link
	interrupted bool
	stopDial    context.CancelFunc
}

func newLane(s *server, buffer int) *lane {
	l := &lane{server: s}
	l.client = redis.NewClient(&redis.Options{
		Addr:     s.name,
		Username: s.username,
		Password: s.password,
		DB:       s.db,

		ClientName:               s.clientName,
		Protocol:                 2, // nothing is pushed on a lane
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},

		Dialer:           l.dial,
		OnConnect:        l.greet,
		PoolSize:         1,
		PipelinePoolSize: -1,
		MaxRetries:       -1,
		ReadTimeout:      -2, // a link has its own deadlines
		WriteTimeout:     -2,
		ReadBufferSize:   buffer,
		WriteBufferSize:  buffer,
	})
	return l
}

// dial gives go-redis a link. It can't fail, so that go-redis has nothing to
// repeat: the link connects in the goroutine of its user.
func (l *lane) dial(context.Context, string, string) (net.Conn, error) {
	return &link{lane: l, used: time.Now()}, nil
}

// greet ends the handshake.
func (l *lane) greet(ctx context.Context, conn *redis.Conn) error {
	err := l.server.greet(ctx, conn)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.link != nil {
		l.link.greeted = err == nil
	}
	return err
}

// exchange sends the commands together and reads the answers. Each command has
// its own error afterwards; sent says whether one that failed without an answer
// may have been executed.
func (l *lane) exchange(ctx context.Context, cmds ...redis.Cmder) (sent bool) {
	l.sent = false
	if len(cmds) == 1 {
		l.client.Process(ctx, cmds[0])
	} else {
		pipe := l.client.Pipeline()
		pipe.BatchProcess(ctx, cmds...)
		pipe.Exec(ctx)
	}
	l.settle(cmds)
	return l.sent
}

// settle drops a connection that is of no use to the next user.
func (l *lane) settle(cmds []redis.Cmder) {
	drop := false
	for _, cmd := range cmds {
		drop = drop || redis.IsReadOnlyError(cmd.Err())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.interrupted || drop) && l.link != nil {
		l.link.shut = true
		l.link.raw.Close()
		l.link = nil
	}
	l.interrupted = false
}

// watched is exchange, ended at once when ctx ends.
func (l *lane) watched(ctx context.Context, cmds ...redis.Cmder) (sent bool) {
	var ended sync.WaitGroup
	ended.Add(1)
	stop := context.AfterFunc(ctx, func() {
		l.interrupt()
		ended.Done()
	})
	sent = l.exchange(ctx, cmds...)
	if !stop() {
		ended.Wait()
		l.settle(nil)
	}
	return sent
}

// interrupt makes the current exchange fail.
func (l *lane) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.interrupted = true
	if l.stopDial != nil {
		l.stopDial()
	}
	if l.link != nil {
		l.link.raw.SetDeadline(time.Unix(1, 0))
	}
}

// connect connects a link. Whoever writes to it has no context to give, so that
// an interrupt ends the attempt.
func (l *lane) connect(k *link) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.server.dialTimeout)
	defer cancel()
	l.mu.Lock()
	if l.interrupted {
		l.mu.Unlock()
		return errInterrupted
	}
	l.stopDial = cancel
	l.mu.Unlock()
	epoch := l.server.epoch.Load()
	raw, err := l.server.connect(ctx)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopDial = nil
	switch {
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errDial{fmt.Errorf("no connection within %v: %w", l.server.dialTimeout, err)}
	case err != nil:
		return errDial{err}
	case l.interrupted:
		raw.Close()
		return errInterrupted
	}
	k.raw, k.epoch, l.link = raw, epoch, k
	return nil
}

// errDial hides its cause from go-redis, which would unwrap it.
type errDial struct{ cause error }

func (e errDial) Error() string { return e.cause.Error() }

// lastUsed is when the lane was last used; the zero time if it isn't connected.
func (l *lane) lastUsed() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.link == nil {
		return time.Time{}
	}
	return l.link.used
}

// arm gives the server time to answer, or to take what is sent.
func (l *lane) arm(k *link) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.interrupted {
		return errInterrupted
	}
	return k.raw.SetDeadline(time.Now().Add(l.server.stallTimeout))
}

// disconnect closes a link.
func (l *lane) disconnect(k *link) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.link == k {
		l.link = nil
	}
	if k.raw == nil {
		return nil
	}
	return k.raw.Close()
}
