package telemetry

import (
	"context"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/wire"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope names this package to OpenTelemetry.
const scope = "github.com/cachewright/cachewright/telemetry"

// A Telemetry is a core.Hook that measures calls and traces them. One serves
// any number of managers.
type Telemetry struct {
	meter       metric.Meter
	tracer      trace.Tracer
	instruments instruments
	labels      labels
}

var _ cache.Hook = (*Telemetry)(nil)

// An Option changes where a Telemetry reports to.
type Option func(*providers)

type providers struct {
	meter  metric.MeterProvider
	tracer trace.TracerProvider
}

// WithMeterProvider takes the place of the global meter provider. That of
// otel/metric/noop turns metrics off; nil changes nothing.
func WithMeterProvider(p metric.MeterProvider) Option {
	return func(to *providers) {
		if p != nil {
			to.meter = p
		}
	}
}

// WithTracerProvider takes the place of the global tracer provider. That of
// otel/trace/noop turns traces off; nil changes nothing.
func WithTracerProvider(p trace.TracerProvider) Option {
	return func(to *providers) {
		if p != nil {
			to.tracer = p
		}
	}
}

// New makes the hook. It fails if the meter provider refuses an instrument.
func New(opts ...Option) (*Telemetry, error) {
	to := providers{meter: otel.GetMeterProvider(), tracer: otel.GetTracerProvider()}
	for _, opt := range opts {
		opt(&to)
	}
	t := &Telemetry{meter: to.meter.Meter(scope), tracer: to.tracer.Tracer(scope)}
	var err error
	t.instruments, err = newInstruments(t.meter)
	return t, err
}

// A call is what Start leaves for End.
type call struct {
	start time.Time
	span  trace.Span
}

type callKey struct{}

// Start is core.Hook's. The returned context carries the call's span, and its
// trace context travels to the driver.
func (t *Telemetry) Start(ctx context.Context, c cache.Call) (context.Context, error) {
	if isEvent(c.Op) {
		return ctx, nil
	}
	k := t.labels.of(c, "")
	ctx, span := t.tracer.Start(ctx, k.name, k.span...)
	ctx = withTrace(ctx)
	t.instruments.active.Add(ctx, 1, k.add...)
	return context.WithValue(ctx, callKey{}, &call{time.Now(), span}), nil
}

// End is core.Hook's. It returns the call's error as it is.
func (t *Telemetry) End(ctx context.Context, c cache.Call, o cache.Outcome) error {
	if isEvent(c.Op) {
		t.happened(ctx, c, o.Err)
		return o.Err
	}
	started, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return o.Err
	}
	t.instruments.active.Add(ctx, -1, t.labels.of(c, "").add...)
	t.measure(ctx, c, o, time.Since(started.start))
	finish(started.span, c, o)
	return o.Err
}

// isEvent tells what happens beside a call from what takes time.
func isEvent(op cache.Op) bool { return op == cache.OpRecompute || op == cache.OpStale }

// withTrace lets the span, or the application's own, travel to the driver if it
// is sampled: a transport may collect calls that say nothing of their own.
func withTrace(ctx context.Context) context.Context {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx
	}
	carrier := make(propagation.MapCarrier, 2)
	propagation.TraceContext{}.Inject(ctx, carrier)
	return wire.WithTrace(ctx, wire.Trace{Parent: carrier["traceparent"], State: carrier["tracestate"]})
}
