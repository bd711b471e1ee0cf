package telemetry

import (
	cache "github.com/cachewright/cachewright/core"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// kindOf is client for what goes to a driver, and internal for what is made of
// such calls.
func kindOf(op cache.Op) trace.SpanKind {
	switch op {
	case cache.OpLock, cache.OpLockWait, cache.OpLoad:
		return trace.SpanKindInternal
	}
	return trace.SpanKindClient
}

func (l label) spanOptions() []trace.SpanStartOption {
	return []trace.SpanStartOption{
		trace.WithSpanKind(kindOf(cache.Op(l.op))),
		trace.WithAttributes(
			attribute.String("cachewright.store", l.store),
			attribute.String("cachewright.driver", l.driver),
			attribute.String("cachewright.operation", l.op),
		),
	}
}

// finish ends a span. An error is named by its class: its text may hold a key.
func finish(span trace.Span, c cache.Call, o cache.Outcome) {
	if !span.IsRecording() {
		span.End()
		return
	}
	span.SetAttributes(attribute.Int("cachewright.keys", c.Keys))
	if counts(c.Op) {
		span.SetAttributes(attribute.Int("cachewright.hits", o.Hits))
	}
	if o.Bytes > 0 {
		span.SetAttributes(attribute.Int("cachewright.bytes", o.Bytes))
	}
	if class := classOf(o.Err); class != "" {
		span.SetAttributes(attribute.String("error.type", class))
		span.SetStatus(codes.Error, class)
	}
	span.End()
}
