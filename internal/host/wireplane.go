package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cachewright/cachewright/internal/fastplane"
	"github.com/cachewright/cachewright/internal/wire"
)

// longSilence is how long a call must have waited in vain before somebody looks
// after the process: one that lives ends a call before its caller does.
const longSilence = time.Second

// overPlane makes a call of the data path over the fast plane.
func (s *wireStore) overPlane(ctx context.Context, e effect, r *fastplane.Request) (fastplane.Answer, error) {
	r.Metadata = wire.OutgoingTrace(ctx).String()
	a, sent, err := s.plane.Call(ctx, r)
	if err != nil {
		if sent && r.Timeout >= longSilence && errors.Is(err, context.DeadlineExceeded) {
			s.suspect()
		}
		return fastplane.Answer{}, planeError(e, sent, err)
	}
	if a.Status == fastplane.StatusFailed {
		return fastplane.Answer{}, a.Failure.Err()
	}
	return a, nil
}

// planeError says what a failure of the plane means for the caller.
func planeError(e effect, sent bool, err error) error {
	if _, ok := errors.AsType[*fastplane.LostError](err); ok {
		return &transportError{sent: sent, effect: e, err: err}
	}
	if sent && e != reads {
		return fmt.Errorf("%w: %w", wire.ErrMaybeApplied, err)
	}
	return err
}
