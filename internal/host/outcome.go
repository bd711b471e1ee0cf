package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// An outcome collects what is known of a call beside its reply.
type outcome struct {
	effect  effect
	trailer metadata.MD
	peer    peer.Peer // set once the call had a stream, so that the driver may have seen it
	options [3]grpc.CallOption
}

func (o *outcome) collect() []grpc.CallOption {
	o.options = [3]grpc.CallOption{
		grpc.StaticMethod(),
		grpc.TrailerCallOption{TrailerAddr: &o.trailer},
		grpc.PeerCallOption{PeerAddr: &o.peer},
	}
	return o.options[:]
}

func (o *outcome) sent() bool { return o.peer.Addr != nil }

// failure turns a gRPC status into the error that callers meet.
func (o *outcome) failure(ctx context.Context, err error) error {
	st := status.Convert(err)
	if names := o.trailer.Get(wire.ErrorTrailer); len(names) > 0 {
		return o.driverError(strings.Join(names, ","), st.Message())
	}
	ctxErr := ctx.Err()
	if ctxErr == nil && (st.Code() == codes.Canceled || st.Code() == codes.DeadlineExceeded) && overdue(ctx) {
		ctxErr = context.DeadlineExceeded
	}
	if ctxErr != nil {
		return o.unknown(o.sent(), ctxErr)
	}
	switch st.Code() {
	case codes.Unavailable, codes.Canceled: // the latter is how gRPC says that the connection was closed
		return &transportError{sent: o.sent(), effect: o.effect, err: err}
	case codes.ResourceExhausted: // the request is too large, or else the answer
		return o.unknown(o.effect == takes, wire.FromStatus(st.Code(), st.Message()))
	default:
		return o.unknown(!refusal(st.Code()), wire.FromStatus(st.Code(), st.Message()))
	}
}

// overdue reports whether ctx's deadline is over, or as good as. The driver's
// process has the same deadline by its own clock and cancels the call then,
// which this side may hear of before its own timer, and which would look like a
// lost connection.
func overdue(ctx context.Context) bool {
	const moment = 10 * time.Millisecond
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < moment
}

// driverError reads what the driver said of its failure.
func (o *outcome) driverError(names, message string) error {
	e := wire.FromNames(names, message)
	problems := o.trailer.Get(wire.ProblemsTrailer)
	if len(problems) == 0 || !errors.Is(e, wire.ErrInvalidOptions) {
		return e
	}
	var refused sdk.OptionsError
	if json.Unmarshal([]byte(problems[0]), &refused.Problems) != nil || len(refused.Problems) == 0 {
		return e
	}
	return &refused
}

// unknown adds wire.ErrMaybeApplied to err where the call changes something and
// possible says that the driver may have done so.
func (o *outcome) unknown(possible bool, err error) error {
	if o.effect != reads && possible {
		return fmt.Errorf("%w: %w", wire.ErrMaybeApplied, err)
	}
	return err
}

// refusal reports whether a status without a trailer says that the driver
// looked at the request and did nothing.
func refusal(code codes.Code) bool {
	switch code {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied,
		codes.FailedPrecondition, codes.OutOfRange, codes.Unimplemented, codes.Unauthenticated:
		return true
	}
	return false
}

// A transportError says that the connection to the driver's process failed
// during a call. It matches wire.ErrMaybeApplied where the call may have
// changed something, and wire.ErrDriverUnavailable where it surely has not.
type transportError struct {
	sent   bool // the request may have reached the driver
	effect effect
	err    error // gRPC's, or the fast plane's
}

func (e *transportError) Error() string {
	text := "the connection to the driver failed: " + status.Convert(e.err).Message()
	if e.maybeApplied() {
		return wire.ErrMaybeApplied.Error() + ": " + text
	}
	return text
}

// Is matches what the failure means for the caller.
func (e *transportError) Is(target error) bool {
	if e.maybeApplied() {
		return target == wire.ErrMaybeApplied
	}
	return target == wire.ErrDriverUnavailable || target == wire.ErrUnavailable
}

func (e *transportError) maybeApplied() bool { return e.sent && e.effect != reads }
