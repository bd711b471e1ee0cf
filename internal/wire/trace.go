package wire

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"
)

// Header names of a trace context, as the W3C has them; over gRPC they are the
// metadata of the call.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// A Trace is the W3C trace context of one call.
type Trace struct {
	Parent string // traceparent
	State  string // tracestate, mostly empty
}

type traceKey struct{}

// WithTrace sends t with every call under the returned context.
func WithTrace(ctx context.Context, t Trace) context.Context {
	ctx = context.WithValue(ctx, traceKey{}, t)
	pairs := []string{traceParent, t.Parent}
	if t.State != "" {
		pairs = append(pairs, traceState, t.State)
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// OutgoingTrace is what WithTrace put into the context, for a transport that
// isn't gRPC. The zero Trace is none.
func OutgoingTrace(ctx context.Context) Trace {
	t, _ := ctx.Value(traceKey{}).(Trace)
	return t
}

// IncomingTrace is the trace context that a call brought to the driver.
func IncomingTrace(ctx context.Context) Trace {
	if t, ok := ctx.Value(traceKey{}).(Trace); ok {
		return t
	}
	return Trace{first(metadata.ValueFromIncomingContext(ctx, traceParent)), strings.Join(metadata.ValueFromIncomingContext(ctx, traceState), ",")}
}

// WithIncomingTrace is for the driver's end of a transport that isn't gRPC.
func WithIncomingTrace(ctx context.Context, t Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// String is t as one text, which ParseTrace reads; that of none is empty.
func (t Trace) String() string {
	if t.State == "" {
		return t.Parent
	}
	return t.Parent + " " + t.State
}

// ParseTrace is the inverse of String.
func ParseTrace(text string) Trace {
	parent, state, _ := strings.Cut(text, " ")
	return Trace{parent, state}
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
