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

// A job is one attempt to carry out an order, or commands.
type job struct {
	waiter
	order    *order // nil: commands
	commands []command

	// readable once done is closed:
	answer  any
	results []error // of the commands
	err     error
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
		j := &job{waiter: newWaiter(), order: o}
		if err = s.attempt(ctx, j, o.repeat != reads); err == nil {
			answer, err = j.answer, j.err
		}
		lost, isLost := errors.AsType[*lostError](err)
		if !isLost {
			return answer, doubtful(err, unsure && !isAnswer(err))
		}
		unsure = unsure || lost.sent && o.repeat != reads
		if losses == mostLosses || unsure && o.repeat == once {
			return nil, lost.surely(unsure)
		}
	}
}

// attempt has a worker do the job, and leaves when ctx ends: its error says
// that the job has no result.
func (s *server) attempt(ctx context.Context, j *job, writes bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enqueue(func() { s.jobs.push(j) }); err != nil {
		return err
	}
	if j.wait(ctx) {
		return nil
	}
	if j.fate.leave() {
		return doubtful(ctx.Err(), writes)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs.forget(j)
	return ctx.Err()
}

// doubtful adds to an error that an earlier attempt, or this one, may have been
// executed.
func doubtful(err error, maybe bool) error {
	switch {
	case !maybe || err == nil || errors.Is(err, sdk.ErrMaybeApplied):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", sdk.ErrMaybeApplied, err)
	}
	return fmt.Errorf("%w: %v", sdk.ErrMaybeApplied, err) // it may say that nothing was applied
}
