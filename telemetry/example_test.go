package telemetry_test

import (
	"context"
	"fmt"
	"log"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/internal/inproc"
	"github.com/cachewright/cachewright/sdk"
	"github.com/cachewright/cachewright/telemetry"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// A hook measures every call of the managers that it is given to; Observe adds
// the state of one manager's drivers. Here a reader of our own takes the place
// of an exporter, and traces are turned off.
func Example() {
	reader := metric.NewManualReader()
	var tel *telemetry.Telemetry
	tel, err := telemetry.New([]telemetry.Option{
		telemetry.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))),
		telemetry.WithTracerProvider(tracenoop.NewTracerProvider()),
	}...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := inProcess()
	caches, err := cache.OpenConfig(ctx, cache.Config{
		Default: "main",
		Drivers: map[string]cache.DriverConfig{"probe": {Run: "command", Command: []string{"./probe"}}},
		Stores:  map[string]cache.StoreConfig{"main": {Driver: "probe"}},
	}, cache.WithHook(tel))
	if err != nil {
		log.Fatal(err)
	}
	stop, err := tel.Observe(caches)
	if err != nil {
		log.Fatal(err)
	}
	_, _ = caches.Get(ctx, "absent")
	_, _ = caches.Get(ctx, "steady")

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		log.Fatal(err)
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		sum, ok := m.Data.(metricdata.Sum[int64])
		if ok && (m.Name == "cachewright.hits" || m.Name == "cachewright.misses") {
			for _, p := range sum.DataPoints {
				if operation, _ := p.Attributes.Value("operation"); operation.AsString() == "get" {
					fmt.Println(m.Name, p.Value)
				}
			}
		}
	}
	fmt.Println(stop(), caches.Close(ctx))
	// Output:
	// cachewright.hits 1
	// cachewright.misses 1
	// <nil> <nil>
}

// inProcess spares the example a driver's process.
func inProcess() context.Context {
	return inproc.With(context.Background(), map[string]sdk.Driver{"probe": driver})
}
