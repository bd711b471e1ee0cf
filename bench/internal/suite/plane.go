package suite

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cachewright/cachewright/bench/internal/client"
	"github.com/cachewright/cachewright/bench/internal/rig"
	cache "github.com/cachewright/cachewright/core"
)

// A Plane is Cachewright with all its stores, whose drivers are reached by one
// transport.
type Plane struct {
	Key, Title string
	manager    *cache.CacheManager
}

var drivers = []string{"memory", "file", "redis", "memcached", "database"}

// The names of the stores that differ from their driver's.
const (
	redisTCP      = "redis_tcp"
	memcachedUnix = "memcached_unix"
)

// quiet leaves out that drivers start and stop, and that nothing is kept on disk.
var quiet = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

func (s *Suite) openPlanes(ctx context.Context) (err error) {
	if s.fast, err = s.openPlane(ctx, "fast", "Cachewright", "auto"); err != nil {
		return err
	}
	if s.grpc, err = s.openPlane(ctx, "grpc", "Cachewright, `transport: grpc`", "grpc"); err != nil {
		return err
	}
	s.another, err = s.openPlane(ctx, "another", "Cachewright", "auto")
	return err
}

func (s *Suite) openPlane(ctx context.Context, key, title, transport string) (*Plane, error) {
	config := cache.Config{
		Default: "memory", Prefix: "app",
		Drivers: map[string]cache.DriverConfig{},
		Stores:  stores(s.rig, key),
	}
	for _, driver := range drivers {
		config.Drivers[driver] = s.driver(key, driver, transport)
	}
	manager, err := cache.OpenConfig(ctx, config, cache.WithLogger(quiet))
	if err != nil {
		return nil, err
	}
	s.onClose(manager.Close)
	return &Plane{key, title, manager}, nil
}

// driver is a built-in, or the same driver with a profile of its own.
func (s *Suite) driver(plane, driver, transport string) cache.DriverConfig {
	if s.options.Profile == "" {
		return cache.DriverConfig{Run: "builtin", Transport: transport}
	}
	profile := filepath.Join(s.options.Profile, plane+"-"+driver+".pprof")
	return cache.DriverConfig{
		Run: "command", Transport: transport,
		Command: []string{s.options.Program, "driver", driver, profile},
	}
}

func stores(r *rig.Rig, plane string) map[string]cache.StoreConfig {
	store := func(driver string, options map[string]any) cache.StoreConfig {
		return cache.StoreConfig{Driver: driver, Codec: "raw", Options: options}
	}
	return map[string]cache.StoreConfig{
		"memory":      store("memory", map[string]any{"max_bytes": "256MiB"}),
		"file":        store("file", map[string]any{"path": r.Folder("file-" + plane)}),
		"redis":       store("redis", map[string]any{"addr": r.Redis.Socket()}),
		redisTCP:      store("redis", map[string]any{"addr": r.Redis.Addr()}),
		"memcached":   store("memcached", map[string]any{"servers": []string{r.Memcached.Addr()}}),
		memcachedUnix: store("memcached", map[string]any{"servers": []string{r.MemcachedUnix.Socket()}}),
		"database":    store("database", map[string]any{"dsn": r.Postgres.SocketURL("")}),
	}
}

// Store is one of the plane's.
func (p *Plane) Store(name string) client.Store {
	repository, err := p.manager.Store(name)
	if err != nil {
		panic(err) // it is one of stores
	}
	return client.Store{ICacheRepository: repository}
}
