package docs

import (
	"context"
	"errors"
	"net"
	"net/http"

	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin"
	"github.com/cachewright/cachewright/telemetry"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
)

// serveMetrics serves /metrics at a listener, such as net.Listen's at
// 127.0.0.1:9464, until that is closed.
func serveMetrics(ctx context.Context, listener net.Listener) error {
	exporter, err := otelprometheus.New(otelprometheus.WithoutScopeInfo()) // into the default registry
	if err != nil {
		return err
	}
	meters := metric.NewMeterProvider(metric.WithReader(exporter))
	tel, err := telemetry.New(telemetry.WithMeterProvider(meters))
	if err != nil {
		return err
	}
	caches, err := cache.Open(ctx, "config.yaml", cache.WithHook(tel))
	if err != nil {
		return err
	}
	stop, err := tel.Observe(caches)
	if err != nil {
		return errors.Join(err, caches.Close(ctx))
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.Handler())
	err = http.Serve(listener, mux)
	return errors.Join(err, stop(), caches.Close(ctx))
}
