package telemetry

import (
	"context"
	"errors"
	"sync"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// instruments are all that is measured, but for the drivers' state.
type instruments struct {
	duration metric.Float64Histogram
	active   metric.Int64UpDownCounter
	errors   metric.Int64Counter
	hits     metric.Int64Counter
	misses   metric.Int64Counter
	size     metric.Int64Histogram

	recomputed metric.Int64Counter
	stale      metric.Int64Counter

	lockWait     metric.Float64Histogram
	lockTimeouts metric.Int64Counter
	lockLost     metric.Int64Counter
}

// Boundaries of the histograms: from what an in-memory store needs to what a
// lock waits, and from a counter to the largest value.
var (
	seconds = metric.WithExplicitBucketBoundaries(.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30)
	bytes   = metric.WithExplicitBucketBoundaries(16, 64, 256, 1<<10, 4<<10, 16<<10, 64<<10, 256<<10, 1<<20, 4<<20, 16<<20, 64<<20)
)

func newInstruments(m metric.Meter) (i instruments, _ error) {
	var errs [11]error
	i.duration, errs[0] = m.Float64Histogram("cachewright.operation.duration", metric.WithUnit("s"), seconds,
		metric.WithDescription("How long calls took, by operation; a lock's is from entry to exit."))
	i.active, errs[1] = m.Int64UpDownCounter("cachewright.operation.active", metric.WithUnit("{operation}"),
		metric.WithDescription("Calls under way."))
	i.errors, errs[2] = m.Int64Counter("cachewright.operation.errors", metric.WithUnit("{error}"),
		metric.WithDescription("Calls that failed, by class of error."))
	i.hits, errs[3] = m.Int64Counter("cachewright.hits", metric.WithUnit("{key}"),
		metric.WithDescription("Keys that reads found."))
	i.misses, errs[4] = m.Int64Counter("cachewright.misses", metric.WithUnit("{key}"),
		metric.WithDescription("Keys that reads did not find."))
	i.size, errs[5] = m.Int64Histogram("cachewright.value.size", metric.WithUnit("By"), bytes,
		metric.WithDescription("Bytes of the values that calls read or wrote; of a batch, their sum."))
	i.recomputed, errs[6] = m.Int64Counter("cachewright.remember.recomputed", metric.WithUnit("{entry}"),
		metric.WithDescription("Entries that Remember could not use and computed anew."))
	i.stale, errs[7] = m.Int64Counter("cachewright.remember.stale", metric.WithUnit("{entry}"),
		metric.WithDescription("Values that Remember served past their TTL."))
	i.lockWait, errs[8] = m.Float64Histogram("cachewright.lock.wait.duration", metric.WithUnit("s"), seconds,
		metric.WithDescription("How long participants waited for a lock, whether they entered or not."))
	i.lockTimeouts, errs[9] = m.Int64Counter("cachewright.lock.timeouts", metric.WithUnit("{wait}"),
		metric.WithDescription("Waits for a lock that ran out."))
	i.lockLost, errs[10] = m.Int64Counter("cachewright.lock.lost", metric.WithUnit("{lock}"),
		metric.WithDescription("Locks that were lost while their block ran."))
	return i, errors.Join(errs[:]...)
}

// measure records a call that ended.
func (t *Telemetry) measure(ctx context.Context, c cache.Call, o cache.Outcome, took time.Duration) {
	i, class := &t.instruments, classOf(o.Err)
	plain := t.labels.of(c, "")
	switch c.Op {
	case cache.OpLockWait:
		i.lockWait.Record(ctx, took.Seconds(), plain.record...)
		if class == "lock_timeout" {
			i.lockTimeouts.Add(ctx, 1, plain.add...)
			return
		}
	case cache.OpLock:
		i.duration.Record(ctx, took.Seconds(), plain.record...)
		if errors.Is(o.Err, cache.ErrLockLost) {
			i.lockLost.Add(ctx, 1, plain.add...)
		}
		return // its other errors are those of the wait or of the block
	default:
		i.duration.Record(ctx, took.Seconds(), plain.record...)
	}
	if o.Err != nil {
		i.errors.Add(ctx, 1, t.labels.of(c, class).add...)
		return
	}
	if counts(c.Op) {
		i.hits.Add(ctx, int64(o.Hits), plain.add...)
		i.misses.Add(ctx, int64(c.Keys-o.Hits), plain.add...)
	}
	if o.Bytes > 0 {
		i.size.Record(ctx, int64(o.Bytes), plain.record...)
	}
}

// happened counts what took no time of its own.
func (t *Telemetry) happened(ctx context.Context, c cache.Call, reason error) {
	if c.Op == cache.OpStale {
		t.instruments.stale.Add(ctx, 1, t.labels.of(c, classOf(reason)).add...)
		return
	}
	t.instruments.recomputed.Add(ctx, 1, t.labels.of(c, classOf(reason)).add...)
}

// counts reports whether an operation is a read whose keys are hits or misses.
func counts(op cache.Op) bool {
	return op == cache.OpGet || op == cache.OpGetMany || op == cache.OpPull || op == cache.OpHas
}

// labels keeps what is the same for all calls of one kind: a handful of kinds for
// each store.
type labels struct {
	mu    sync.RWMutex // guards kinds
	kinds map[label]*kind
}

type label struct{ store, driver, op, class string }

// A kind is a set of labels, in all the forms that the instruments take.
type kind struct {
	add    []metric.AddOption
	record []metric.RecordOption
	name   string // of the span
	span   []trace.SpanStartOption
}

// of is the kind of a call; class is "" where it has none.
func (l *labels) of(c cache.Call, class string) *kind {
	key := label{c.Store, c.Driver, string(c.Op), class}
	l.mu.RLock()
	k, ok := l.kinds[key]
	l.mu.RUnlock()
	if ok {
		return k
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kinds == nil {
		l.kinds = make(map[label]*kind)
	}
	k = key.kind()
	l.kinds[key] = k
	return k
}

func (l label) kind() *kind {
	labels := []attribute.KeyValue{
		attribute.String("store", l.store),
		attribute.String("driver", l.driver),
		attribute.String("operation", l.op),
	}
	if l.class != "" {
		labels = append(labels, attribute.String("error_type", l.class))
	}
	set := metric.WithAttributeSet(attribute.NewSet(labels...))
	return &kind{[]metric.AddOption{set}, []metric.RecordOption{set}, "cachewright " + l.op, l.spanOptions()}
}
