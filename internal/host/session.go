package host

import (
	"context"
	"errors"
	"fmt"
)

// A session is a driver process as the supervisor and the stores know it: it
// has answered Describe and lives until exited is closed or stop is called.
type session struct {
	desc   Description
	pid    int
	exited <-chan struct{}

	open   func(ctx context.Context, store string, options map[string]any) (Store, error)
	check  func(ctx context.Context) error // a sign of life
	status func() string                   // how it ended, once exited is closed
	stop   func(ctx context.Context) error // graceful until ctx is done
	kill   func(ctx context.Context) error // at once

	doubted chan struct{} // holds one: a call lost its connection
}

func newSession(in *instance) *session {
	s := &session{
		desc:   in.desc,
		pid:    in.process.processID(),
		exited: in.process.exited,
		check:  in.check,
		status: func() string {
			status, _ := in.process.ended()
			return status
		},
		stop:    in.stop,
		kill:    in.kill,
		doubted: make(chan struct{}, 1),
	}
	s.open = func(ctx context.Context, store string, options map[string]any) (Store, error) {
		opened, err := in.conn.open(ctx, store, options, in.desc.Protocol)
		if err != nil {
			return nil, err
		}
		opened.plane, opened.suspect = in.plane, s.doubt
		return opened, nil
	}
	return s
}

// doubt has the supervisor look after the process.
func (s *session) doubt() {
	select {
	case s.doubted <- struct{}{}:
	default: // it has been told already
	}
}

// death describes the end of a process that was not asked for.
func (s *session) death() error {
	return fmt.Errorf("its process %d ended unasked: %s; the log has what it printed last", s.pid, s.status())
}

// lost returns the transport error in err, if the connection failed.
func lost(err error) *transportError {
	var t *transportError
	if errors.As(err, &t) {
		return t
	}
	return nil
}
