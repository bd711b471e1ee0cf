package core

import (
	"context"
	"errors"
	"maps"
)

// forgive takes away the error of a read that a store with on_error: miss can't
// answer, which makes it a miss. Hooks have seen the error.
func (s *store) forgive(caller context.Context, op Op, err error) error {
	if op != OpGet && op != OpGetMany && op != OpHas {
		return err
	}
	return s.spare(caller, err)
}

// spare takes away what on_error: miss is about: that the store can't be
// reached, is overloaded, or takes longer than its timeout. The caller's own
// context is not, nor is anything wrong with the entry or the call.
func (s *store) spare(caller context.Context, err error) error {
	if err == nil || !s.missOnError || caller.Err() != nil {
		return err
	}
	_, bounded := caller.Deadline()
	if batch, ok := errors.AsType[*BatchError](err); ok {
		return batch.withoutOutages(bounded)
	}
	if isOutage(err, bounded) {
		return nil
	}
	return err
}

// isOutage tells that nothing could be asked. bounded says that a deadline is
// the caller's and not the store's.
func isOutage(err error, bounded bool) bool {
	switch {
	case errors.Is(err, ErrCorrupt):
		return false
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrOverloaded):
		return true
	}
	return !bounded && errors.Is(err, context.DeadlineExceeded)
}

// withoutOutages are the keys that failed for other reasons, nil if none did.
func (e *BatchError) withoutOutages(bounded bool) error {
	failed := maps.Clone(e.Failed)
	maps.DeleteFunc(failed, func(_ string, err error) bool { return isOutage(err, bounded) })
	if len(failed) == 0 {
		return nil
	}
	return &BatchError{failed}
}
