package telemetry

import (
	"context"
	"errors"

	cache "github.com/cachewright/cachewright/core"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Observe reports the state of the manager's drivers with every collection, and
// lets the counters of its stores begin at 0, so that their first event shows as
// a rise. stop ends it; call it before the manager closes, or not at all where
// both end with the process. Observe each manager once: what several say of a
// driver of one name is added up.
func (t *Telemetry) Observe(m *cache.CacheManager) (stop func() error, err error) {
	restarts, failed := t.meter.Int64ObservableCounter("cachewright.driver.restarts", metric.WithUnit("{restart}"),
		metric.WithDescription("Starts of the driver's process after the first."))
	ready, alsoFailed := t.meter.Int64ObservableUpDownCounter("cachewright.driver.ready", // which adds managers up
		metric.WithDescription("1 while the driver's process serves, 0 before its first use and while it is down; of several managers, their sum."))
	if err := errors.Join(failed, alsoFailed); err != nil {
		return nil, err
	}
	t.begin(m)
	registration, err := t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, d := range m.Drivers() {
			driver := metric.WithAttributeSet(attribute.NewSet(attribute.String("driver", d.Name)))
			o.ObserveInt64(restarts, int64(d.Restarts), driver)
			o.ObserveInt64(ready, isReady(d), driver)
		}
		return nil
	}, restarts, ready)
	if err != nil {
		return nil, err
	}
	return registration.Unregister, nil
}

func isReady(d cache.DriverInfo) int64 {
	if d.State == "ready" {
		return 1
	}
	return 0
}

// begin sets the counters of every store to 0.
func (t *Telemetry) begin(m *cache.CacheManager) {
	ctx, i := context.Background(), &t.instruments
	for _, s := range m.Stores() {
		begin := func(counter metric.Int64Counter, op cache.Op) {
			counter.Add(ctx, 0, t.labels.of(cache.Call{Store: s.Name, Driver: s.Driver, Op: op}, "").add...)
		}
		begin(i.hits, cache.OpGet)
		begin(i.misses, cache.OpGet)
		begin(i.errors, cache.OpGet)
		begin(i.recomputed, cache.OpRecompute)
		begin(i.stale, cache.OpStale)
		begin(i.lockTimeouts, cache.OpLockWait)
		begin(i.lockLost, cache.OpLock)
	}
}
