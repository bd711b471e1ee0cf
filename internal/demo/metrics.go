package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/cachewright/cachewright/telemetry"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace/noop"
)

// metrics serves what telemetry measures to a Prometheus on this machine.
type metrics struct {
	telemetry *telemetry.Telemetry
	url       string
	stop      func() error // of observing

	server  *http.Server
	serving chan error // how the server ended
}

func serveMetrics(address string) (*metrics, error) {
	listener, err := listenHere(address)
	if err != nil {
		return nil, err
	}
	m := &metrics{url: fmt.Sprintf("http://%s/metrics", listener.Addr()), serving: make(chan error, 1)}
	registry := prometheus.NewRegistry()
	if m.telemetry, err = measureInto(registry); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { m.serving <- m.server.Serve(listener) }()
	return m, nil
}

// listenHere listens on this machine's own addresses only: metrics are not for
// everybody on the network.
func listenHere(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, argumentf("--metrics %s: give HOST:PORT, such as 127.0.0.1:9464", address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, argumentf("--metrics %s: only this machine's own are served, such as 127.0.0.1:9464", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, argumentf("--metrics %s: %w", address, err)
	}
	return listener, nil
}

func measureInto(registry prometheus.Registerer) (*telemetry.Telemetry, error) {
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, err
	}
	return telemetry.New(
		telemetry.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(exporter))),
		telemetry.WithTracerProvider(noop.NewTracerProvider()),
	)
}

func (m *metrics) observe(caches *cache.CacheManager) (err error) {
	m.stop, err = m.telemetry.Observe(caches)
	return err
}

// close is nothing where nothing is served.
func (m *metrics) close(ctx context.Context) error {
	if m == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	var err error
	if m.stop != nil {
		err = m.stop()
	}
	err = errors.Join(err, m.server.Shutdown(ctx))
	if ended := <-m.serving; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
