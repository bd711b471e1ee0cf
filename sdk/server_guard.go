package sdk

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cachewright/cachewright/internal/wire"
)

// errUnasked is why a call without a deadline of its own ended.
var errUnasked = errors.New("the call came without a deadline and took too long")

// guard surrounds every call: it ends within its deadline or a default one, a
// panic fails the call and not the process, and an error goes out with the
// names of the sentinels that it matches.
func guard(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (reply any, err error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, wire.DefaultDeadline, errUnasked)
		defer cancel()
	}
	reply, err = handleSafely(ctx, request, info, handle)
	if err != nil {
		return nil, asStatus(ctx, err)
	}
	return reply, nil
}

func handleSafely(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (reply any, err error) {
	defer recoverAs(&err, info.FullMethod)
	return handle(ctx, request)
}

// asStatus describes err as a gRPC status, and sets the trailers beside it.
func asStatus(ctx context.Context, err error) error {
	e := wire.Encode(err)
	trailer := metadata.Pairs(wire.ErrorTrailer, e.Names())
	if refused, ok := errors.AsType[*OptionsError](err); ok {
		if problems, err := json.Marshal(refused.Problems); err == nil && len(problems) <= wire.MaxErrorText {
			trailer.Append(wire.ProblemsTrailer, string(problems))
		}
	}
	grpc.SetTrailer(ctx, trailer) // fails only outside a call
	return status.Error(e.Status(), e.Message)
}
