package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/builtin"
	"github.com/cachewright/cachewright/internal/inproc"
	"github.com/cachewright/cachewright/sdk"
	"github.com/cachewright/cachewright/telemetry"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

func TestMain(m *testing.M) {
	builtin.Register(driver)
	builtin.Register(collector)
	builtin.Serve()
	os.Exit(m.Run())
}

// driver keeps values in a map, fails on demand, and under the key "trace"
// holds the trace context of whoever reads it.
var driver = sdk.Define("probe", "1.2.3", func(context.Context, struct{}) (*probe, error) {
	return &probe{values: map[string][]byte{"steady": []byte("1")}}, nil
})

type probe struct {
	mu     sync.Mutex // guards values
	values map[string][]byte
}

func (p *probe) Traits() sdk.Traits { return sdk.Traits{LockStrategy: sdk.StrategyLocal} }
func (p *probe) Close() error       { return nil }

func (p *probe) Get(ctx context.Context, key string) ([]byte, bool, error) {
	switch key {
	case "trace":
		parent, state := sdk.TraceContext(ctx)
		return fmt.Appendf(nil, "%q", parent+state), true, nil
	case "down":
		return nil, false, sdk.ErrUnavailable
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	value, ok := p.values[key]
	return value, ok, nil
}

func (p *probe) Set(_ context.Context, key string, value []byte, _ time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values[key] = slices.Clone(value)
	return nil
}

func (p *probe) Delete(_ context.Context, key string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.values[key]
	delete(p.values, key)
	return ok, nil
}

// collector is the probe as a driver that makes one call of those that arrive
// together.
var collector = sdk.Define("collector", "1.2.3", func(context.Context, struct{}) (*collecting, error) {
	return &collecting{&probe{values: map[string][]byte{}}}, nil
})

type collecting struct{ *probe }

func (c *collecting) Traits() sdk.Traits { return sdk.Traits{Dispatch: sdk.DispatchTogether} }

func (c *collecting) GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	found := make([]sdk.Lookup, len(keys))
	for i, key := range keys {
		found[i].Value, found[i].OK, found[i].Err = c.Get(ctx, key)
	}
	return found, nil
}

func (c *collecting) SetMany(ctx context.Context, entries []sdk.Entry) error {
	for _, e := range entries {
		_ = c.Set(ctx, e.Key, e.Value, e.TTL)
	}
	return nil
}

func (c *collecting) DeleteMany(context.Context, []string) (int, error) { return 0, nil }

// A rig is a manager over the probe, and what its telemetry reported.
type rig struct {
	caches *cache.CacheManager
	tel    *telemetry.Telemetry
	reader *metric.ManualReader
	spans  *tracetest.SpanRecorder
	tracer *trace.TracerProvider
}

func newRig(t *testing.T, inProcess bool) *rig {
	t.Helper()
	r := &rig{reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	r.tracer = trace.NewTracerProvider(trace.WithSpanProcessor(r.spans))
	var err error
	r.tel, err = telemetry.New(
		telemetry.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(r.reader))),
		telemetry.WithTracerProvider(r.tracer),
	)
	if err != nil {
		t.Fatal(err)
	}
	r.caches = open(t, inProcess, cache.WithHook(r.tel))
	return r
}

func open(t *testing.T, inProcess bool, opts ...cache.Option) *cache.CacheManager {
	t.Helper()
	ctx := t.Context()
	if inProcess {
		ctx = inproc.With(ctx, map[string]sdk.Driver{"probe": driver, "collector": collector})
	}
	m, err := cache.OpenConfig(ctx, cache.Config{Default: "main", Stores: map[string]cache.StoreConfig{
		"main": {Driver: "probe"}, "collecting": {Driver: "collector"},
	}}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return m
}

// points are all data points by name and labels but store and driver: the count,
// or the sum.
func (r *rig) points(t *testing.T) map[string]int64 {
	t.Helper()
	var collected metricdata.ResourceMetrics
	if err := r.reader.Collect(t.Context(), &collected); err != nil {
		t.Fatal(err)
	}
	points := map[string]int64{}
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					points[name(m.Name, p.Attributes)] += p.Value
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					points[name(m.Name, p.Attributes)] += p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					points[name(m.Name, p.Attributes)] += int64(p.Count)
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					points[name(m.Name, p.Attributes)] += int64(p.Count)
				}
			default:
				t.Fatalf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	return points
}

func name(metric string, labels attribute.Set) string {
	text := strings.TrimPrefix(metric, "cachewright.")
	for _, label := range labels.ToSlice() {
		if label.Key != "store" && label.Key != "driver" {
			text += " " + label.Value.String()
		}
	}
	return text
}

var errBlock = errors.New("the block failed")

func (r *rig) work(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	check(r.caches.Set(ctx, "a", "value", time.Minute))
	_, err := r.caches.Get(ctx, "a")
	check(err)
	_, err = r.caches.Get(ctx, "b")
	check(err)
	_, err = r.caches.GetMany(ctx, []string{"a", "b", "c"})
	check(err)
	if _, err := r.caches.Get(ctx, "down"); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("Get: %v", err)
	}
	_, err = cache.Of[int](r.caches).Remember(ctx, "a", time.Minute, func(context.Context) (int, error) { return 7, nil })
	check(err)
	err = r.caches.Lock("a").Do(ctx, func(ctx context.Context) error {
		if err := r.caches.Lock("a", cache.LockTimeout(0)).Do(t.Context(), nothing); !errors.Is(err, cache.ErrLockTimeout) {
			t.Errorf("a second Do: %v", err)
		}
		_, err := r.caches.Get(ctx, "a")
		check(err)
		return errBlock
	})
	if !errors.Is(err, errBlock) {
		t.Errorf("Do: %v", err)
	}
	_, err = r.caches.Remember(ctx, "d", time.Minute, func(context.Context) (any, error) { return 7, nil }, cache.SingleFlight(time.Minute))
	check(err)
}

func nothing(context.Context) error { return nil }

func TestMetricsSayWhatHappened(t *testing.T) {
	r := newRig(t, true)
	r.work(t)
	got := r.points(t)
	for point, want := range map[string]int64{
		"operation.duration get":                   6,
		"operation.duration get-many":              1,
		"operation.duration set":                   3,
		"operation.duration lock":                  2,
		"operation.duration load":                  1,
		"operation.active get":                     0,
		"operation.errors unavailable get":         1,
		"hits get":                                 3,
		"misses get":                               2,
		"hits get-many":                            1,
		"misses get-many":                          2,
		"value.size get":                           3,
		"value.size set":                           3,
		"remember.recomputed wrong_type recompute": 1,
		"lock.wait.duration lock-wait":             2,
		"lock.timeouts lock-wait":                  1,
	} {
		if value, ok := got[point]; !ok || value != want {
			t.Errorf("%s: %d, %t; want %d", point, value, ok, want)
		}
	}
	for point := range got {
		if strings.HasPrefix(point, "operation.errors") && point != "operation.errors unavailable get" {
			t.Errorf("%s: the block's own error, or a lock's timeout, counts as an operation's", point)
		}
	}
	if t.Failed() {
		for _, point := range slices.Sorted(maps.Keys(got)) {
			t.Log(point, got[point])
		}
	}
}

func TestObserveReportsDriversAndLetsCountersBeginAtZero(t *testing.T) {
	r := newRig(t, true)
	stop, err := r.tel.Observe(r.caches)
	if err != nil {
		t.Fatal(err)
	}
	got := r.points(t)
	for _, point := range []string{
		"hits get", "misses get", "operation.errors get", "remember.recomputed recompute", "remember.stale stale",
		"lock.timeouts lock-wait", "lock.lost lock", "driver.restarts", "driver.ready",
	} {
		if value, ok := got[point]; !ok || value != 0 {
			t.Errorf("%s: %d, %t; want 0", point, value, ok)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.points(t)["driver.ready"]; ok {
		t.Error("it reports drivers after its end")
	}
}

func TestAReadyDriverIsReported(t *testing.T) {
	r := newRig(t, false)
	if _, err := r.tel.Observe(r.caches); err != nil {
		t.Fatal(err)
	}
	if _, err := r.caches.Get(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if got := r.points(t); got["driver.ready"] != 1 || got["driver.restarts"] != 0 {
		t.Errorf("ready %d, restarts %d", got["driver.ready"], got["driver.restarts"])
	}
}

func TestManagersThatShareATelemetryAreAddedUp(t *testing.T) {
	r := newRig(t, false)
	for _, m := range []*cache.CacheManager{open(t, false, cache.WithHook(r.tel)), r.caches, open(t, false, cache.WithHook(r.tel))} {
		if _, err := r.tel.Observe(m); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Get(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
	}
	open(t, false) // and one that nobody observes
	if got := r.points(t); got["driver.ready"] != 3 || got["misses get"] != 3 {
		t.Errorf("ready %d, misses %d; want 3", got["driver.ready"], got["misses get"])
	}
}

// Whatever the order in which managers, observations and collections begin and
// end, nothing is reported of a manager whose observation has ended.
func TestObservationsComeAndGoWhileMetricsAreCollected(t *testing.T) {
	r := newRig(t, true)
	var wg sync.WaitGroup
	for i := range 8 {
		m := open(t, true, cache.WithHook(r.tel))
		wg.Go(func() {
			stop, err := r.tel.Observe(m)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = m.Get(t.Context(), "k")
			if i%2 == 0 {
				defer func() { _ = m.Close(context.WithoutCancel(t.Context())) }()
			} else {
				_ = m.Close(t.Context())
			}
			if err := errors.Join(stop(), stop()); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() { r.points(t) })
	}
	wg.Wait()
	if _, ok := r.points(t)["driver.ready"]; ok {
		t.Error("drivers are reported after the end of every observation")
	}
}

func TestAProviderThatIsNilIsTheGlobalOne(t *testing.T) {
	tel, err := telemetry.New(telemetry.WithMeterProvider(nil), telemetry.WithTracerProvider(nil))
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, true, cache.WithHook(tel), cache.WithHook(nil), cache.WithLogger(nil))
	if v, err := m.Get(t.Context(), "steady"); err != nil || !v.Found() {
		t.Errorf("Get: %v, %v", v, err)
	}
}

func TestAStaleValueIsCountedWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, true)
		for i := range 2 {
			v, err := r.caches.Remember(t.Context(), "k", time.Second, func(context.Context) (any, error) {
				if i == 1 {
					return nil, cache.ErrUnavailable
				}
				return 7, nil
			}, cache.StaleFor(time.Minute))
			if err != nil || v.Stale() != (i == 1) {
				t.Fatal(v.Stale(), err)
			}
			time.Sleep(2 * time.Second)
		}
		if got := r.points(t)["remember.stale unavailable stale"]; got != 1 {
			t.Errorf("counted %d times, want once", got)
		}
	})
}

func TestTheNumberOfSeriesDoesNotGrowWithKeys(t *testing.T) {
	r := newRig(t, true)
	ask := func(key string) {
		if _, err := r.caches.Get(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	ask("first")
	before := len(r.points(t))
	for i := range 1000 {
		ask(fmt.Sprint("key", i))
	}
	if after := len(r.points(t)); after != before {
		t.Errorf("%d series became %d", before, after)
	}
}

func TestSpansNestAsCallsDoAndHoldNoKey(t *testing.T) {
	r := newRig(t, true)
	r.work(t)
	ctx, outer := r.tracer.Tracer("app").Start(t.Context(), "request")
	secret := "the-secret-key"
	_ = r.caches.Lock(secret).Do(ctx, func(ctx context.Context) error {
		_, err := r.caches.Get(ctx, secret)
		return errors.Join(err, errors.New(secret))
	})
	outer.End()
	spans := r.spans.Ended()
	find := func(name string) trace.ReadOnlySpan {
		for _, s := range slices.Backward(spans) {
			if s.Name() == name {
				return s
			}
		}
		t.Fatalf("no span %q", name)
		return nil
	}
	lock := find("cachewright lock")
	for child, parent := range map[string]trace.ReadOnlySpan{
		"cachewright lock": find("request"), "cachewright lock-wait": lock, "cachewright get": lock,
	} {
		if got := find(child).Parent().SpanID(); got != parent.SpanContext().SpanID() {
			t.Errorf("%s is not inside %s", child, parent.Name())
		}
	}
	if s := lock.Status(); s.Code != codes.Error || s.Description != "other" {
		t.Errorf("the lock's status: %+v", s)
	}
	for _, s := range spans {
		if text := fmt.Sprint(s.Name(), s.Attributes(), s.Status(), s.Events()); strings.Contains(text, secret) {
			t.Errorf("a span holds the key: %s", text)
		}
	}
}

func TestTheTraceContextReachesTheDriver(t *testing.T) {
	for name, inProcess := range map[string]bool{"in a process of its own": false, "in this process": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, inProcess)
			parent, ok, err := cache.Of[string](r.caches).Get(t.Context(), "trace")
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			spans := r.spans.Ended()
			span := spans[len(spans)-1].SpanContext()
			if want := fmt.Sprintf("00-%s-%s-01", span.TraceID(), span.SpanID()); parent != want {
				t.Errorf("the driver saw %q, want %q", parent, want)
			}
		})
	}
}

// Callers at once have a trace each, and none meets another's.
func TestTracesOfCallsThatAreCollectedStayApart(t *testing.T) {
	r := newRig(t, false)
	store, err := r.caches.Store("collecting")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			ctx, span := r.tracer.Tracer("app").Start(t.Context(), "request")
			defer span.End()
			parent, ok, err := cache.Of[string](store).Get(ctx, "trace")
			if err != nil || !ok || !strings.Contains(parent, span.SpanContext().TraceID().String()) {
				t.Errorf("the driver saw %q, %t, %v", parent, ok, err)
			}
		})
	}
	wg.Wait()
}

func TestWithoutTracesTheApplicationsOwnReachesTheDriver(t *testing.T) {
	tel, err := telemetry.New(telemetry.WithMeterProvider(metricnoop.NewMeterProvider()), telemetry.WithTracerProvider(tracenoop.NewTracerProvider()))
	if err != nil {
		t.Fatal(err)
	}
	caches := cache.Of[string](open(t, true, cache.WithHook(tel)))
	if parent, _, err := caches.Get(t.Context(), "trace"); parent != "" || err != nil {
		t.Errorf("without any trace the driver saw %q, %v", parent, err)
	}
	ctx, span := trace.NewTracerProvider().Tracer("app").Start(t.Context(), "request")
	defer span.End()
	if parent, _, err := caches.Get(ctx, "trace"); !strings.Contains(parent, span.SpanContext().SpanID().String()) || err != nil {
		t.Errorf("the driver saw %q, %v", parent, err)
	}
}

func TestACallThatIsNotSampledSendsNothing(t *testing.T) {
	tel, err := telemetry.New(telemetry.WithTracerProvider(trace.NewTracerProvider(trace.WithSampler(trace.NeverSample()))))
	if err != nil {
		t.Fatal(err)
	}
	parent, _, err := cache.Of[string](open(t, true, cache.WithHook(tel))).Get(t.Context(), "trace")
	if parent != "" || err != nil {
		t.Errorf("the driver saw %q, %v", parent, err)
	}
}

func TestWithoutTelemetryACallAllocatesNothing(t *testing.T) {
	m := open(t, true)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if n := testing.AllocsPerRun(100, func() {
		if v, err := m.Get(ctx, "steady"); !v.Found() || err != nil {
			t.Error(v, err)
		}
	}); n != 0 {
		t.Errorf("a Get makes %v allocations", n)
	}
}
