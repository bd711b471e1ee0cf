package sdk

import (
	"context"

	"github.com/cachewright/cachewright/internal/wire"
)

// TraceContext is the W3C trace context of the call that ctx belongs to, as the
// host's telemetry sent it: a driver that traces makes its spans children of
// it. Both are empty where the host doesn't trace, or not this call: then a driver
// begins no trace of its own.
func TraceContext(ctx context.Context) (traceparent, tracestate string) {
	t := wire.IncomingTrace(ctx)
	return t.Parent, t.State
}
