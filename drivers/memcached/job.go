package memcached

import (
	"context"
	"errors"
	"fmt"

	"github.com/cachewright/cachewright/sdk"
)

// mostLosses is how often a call is sent, in total, if there is no answer.
const mostLosses = 3

// A repeat says whether an order may be executed more than once.
type repeat int

const (
	reads repeat = iota // changes nothing
	again               // has the same effect again
	once                // must not be executed twice
)

// A job is one attempt to carry out an order.
type job struct {
	waiter
	order *order

	answer any // readable once done is closed, as err is
	err    error
}

func (j *job) end(answer any, err error) {
	j.answer, j.err = answer, err
	close(j.done)
}

func (j *job) perform(l *lane) { j.end(l.exchange(j.order, &j.fate)) }

// do has an order carried out, again if need be and if it may. An error that
// isAnswer knows is an answer; any other is for the caller of the store.
func (s *server) do(ctx context.Context, o *order) (answer any, err error) {
	unsure := false
	for losses := 1; ; losses++ {
		answer, err = s.attempt(ctx, o)
		lost, isLost := errors.AsType[*lostError](err)
		if !isLost {
			return answer, doubtful(err, unsure && !isAnswer(err))
		}
		unsure = unsure || lost.sent && o.repeat != reads
		if losses == mostLosses || unsure && o.repeat == once {
			return nil, &lostError{server: lost.server, cause: lost.cause, sent: lost.sent, maybe: unsure}
		}
	}
}

// attempt has a worker carry out the order, and leaves when ctx ends.
func (s *server) attempt(ctx context.Context, o *order) (answer any, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	j := &job{waiter: newWaiter(), order: o}
	if err := s.enqueue(func() { s.jobs.push(j) }); err != nil {
		return nil, err
	}
	select {
	case <-j.done:
		return j.answer, j.err
	case <-ctx.Done():
	}
	if j.fate.leave() {
		return nil, doubtful(ctx.Err(), o.repeat != reads)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs.forget(j)
	return nil, ctx.Err()
}

// doubtful adds to an error that an earlier attempt, or this one, may have been
// executed.
func doubtful(err error, maybe bool) error {
	switch {
	case !maybe || errors.Is(err, sdk.ErrMaybeApplied):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", sdk.ErrMaybeApplied, err)
	}
	return fmt.Errorf("%w: %v", sdk.ErrMaybeApplied, err) // it may say that nothing was applied
}
