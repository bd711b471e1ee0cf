package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

// How often a call tries before it gives up: where there was no answer, where
// the server would not now, and where it sent the call elsewhere.
const (
	mostLosses   = 3
	mostRefusals = 6
	mostHops     = 16
)

// A repeat says whether a command may be executed more than once.
type repeat int

const (
	reads repeat = iota // changes nothing
	again               // has the same effect again
	once                // must not be executed twice
)

// A call is one command, and how to send it.
type call struct {
	key    string
	cmd    redis.Cmder
	repeat repeat
	apart  bool    // over a connection of its own
	on     *server // nil: the one of the key
}

// A trial is what became of a call so far.
type trial struct {
	call
	at     *server // where a redirect leads; nil: to the server of the key
	asking bool
	unsure bool // a write may have been executed without an answer

	losses, refusals, hops int
}

// do has a command executed, again if need be and if it may. Its error is for
// the caller of the store; the command's own holds the answer, or redis.Nil.
func (s *store) do(ctx context.Context, c call) error {
	t := trial{call: c}
	for {
		srv, sent, err := s.try(ctx, &t)
		pause, err := s.weigh(ctx, &t, srv, sent, err)
		if err != nil || pause < 0 {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return t.fail(err)
		}
	}
}

// try sends the command once.
func (s *store) try(ctx context.Context, t *trial) (srv *server, sent bool, err error) {
	if srv, err = s.aim(ctx, t); err != nil {
		return s.nowhere, false, err
	}
	if t.apart {
		sent, err = srv.apart(ctx, t.commands(ctx)...)
	} else {
		sent, err = srv.together(ctx, t.commands(ctx)...)
	}
	if err != nil {
		return srv, sent, err
	}
	return srv, sent, t.cmd.Err()
}

// commands are what the next attempt sends.
func (t *trial) commands(ctx context.Context) []redis.Cmder {
	t.cmd.SetErr(nil)
	if t.asking {
		return []redis.Cmder{redis.NewStatusCmd(ctx, "asking"), t.cmd}
	}
	return []redis.Cmder{t.cmd}
}

// aim finds the server for the next attempt.
func (s *store) aim(ctx context.Context, t *trial) (*server, error) {
	if t.at != nil {
		return t.at, nil
	}
	if t.on != nil {
		return t.on, nil
	}
	return s.route.server(ctx, t.key)
}

// settled is the pause of a call that needs no further attempt.
const settled time.Duration = -1

// weigh decides what follows from an attempt: an error, nothing more to do
// (settled), or another attempt after a pause.
func (s *store) weigh(ctx context.Context, t *trial, srv *server, sent bool, err error) (time.Duration, error) {
	t.at, t.asking = nil, false
	switch v := judge(err); v {
	case fine:
		return settled, nil
	case elsewhere, ask:
		t.hops++
		if t.hops > mostHops {
			return 0, t.fail(srv.says(sdk.ErrUnavailable, err, "the Cluster sends the call in circles"))
		}
		return 0, s.redirect(t, srv, v, err)
	case refused:
		t.refusals++
		s.route.changed()
		if t.refusals > mostRefusals {
			return 0, t.fail(passing(srv, err))
		}
		return backoff(t.refusals), nil
	case lost:
		return s.weighLoss(ctx, t, srv, sent, err)
	}
	return 0, t.fail(explain(srv, err))
}

func (s *store) weighLoss(ctx context.Context, t *trial, srv *server, sent bool, err error) (time.Duration, error) {
	t.unsure = t.unsure || sent && t.repeat != reads
	if ended := ctx.Err(); ended != nil {
		return 0, t.fail(srv.late(ended))
	}
	t.losses++
	if timedOut(err) {
		t.losses++ // patience for two of them is less than a call has by default
	}
	s.route.changed()
	if t.losses < mostLosses && !(t.unsure && t.repeat == once) {
		return backoff(t.losses), nil
	}
	if t.unsure {
		return 0, srv.says(sdk.ErrMaybeApplied, err, "")
	}
	return 0, srv.says(sdk.ErrUnavailable, err, "")
}

// late names the server that had not answered when the caller's time was up.
func (srv *server) late(ended error) error {
	if srv.name == "" || !errors.Is(ended, context.DeadlineExceeded) {
		return ended
	}
	return fmt.Errorf("%s: no answer while the call had time: %w", srv.name, ended)
}

// timedOut tells a server that says nothing from one that refuses.
func timedOut(err error) bool {
	var silent net.Error
	return errors.As(err, &silent) && silent.Timeout()
}

// redirect follows MOVED and ASK. Both say that nothing was executed.
func (s *store) redirect(t *trial, srv *server, v verdict, err error) error {
	addr, ok := redis.IsMovedError(err)
	if v == ask {
		addr, ok = redis.IsAskError(err)
	}
	next := s.route.at(addr, srv)
	if !ok || next == nil {
		return t.fail(&refusal{reason: srv.name + ": the server is a node of a Cluster, and the key is another node's: give the option cluster.addrs"})
	}
	t.at, t.asking = next, v == ask
	if v == elsewhere {
		s.route.changed()
	}
	return nil
}

// fail is the error of a call of which an earlier attempt may have been
// executed.
func (t *trial) fail(err error) error {
	if t.unsure {
		return errors.Join(err, sdk.ErrMaybeApplied)
	}
	return err
}

// backoff is how long to wait after attempt n, which counts from 1: 5 ms,
// doubled each time up to 320, and half of it by chance.
func backoff(n int) time.Duration {
	full := 5 * time.Millisecond << min(n-1, 6)
	return full/2 + rand.N(full/2)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// says words an error that matches kind. The cause goes in as text, since a
// time limit of the driver's own is not the caller's.
func (s *server) says(kind, cause error, advice string) error {
	text := s.scrub(cause)
	if advice != "" {
		text += ": " + advice
	}
	if kind == nil {
		return fmt.Errorf("%s: %s", s.name, text)
	}
	return fmt.Errorf("%s: %w: %s", s.name, kind, text)
}
