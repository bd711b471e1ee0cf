package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachewright/cachewright/core/internal/config"
	"github.com/cachewright/cachewright/core/internal/lock"
	"github.com/cachewright/cachewright/internal/bootclock"
	"github.com/cachewright/cachewright/internal/builtin"
	"github.com/cachewright/cachewright/internal/host"
	"github.com/cachewright/cachewright/internal/inproc"
	"github.com/cachewright/cachewright/internal/seal"
	"github.com/cachewright/cachewright/sdk"
)

// A CacheManager holds the stores of one configuration: it hands out their
// repositories, is one itself for the default store, and runs the drivers. It
// is safe for concurrent use.
type CacheManager struct {
	config       *config.Config
	repositories map[string]*CacheRepository
	fallback     *CacheRepository // the default store's
	hooks        []Hook
	logger       *slog.Logger
	inProcess    map[string]sdk.Driver
	files        []string // laid over the first
	foreign      bool     // codecs that aren't registered are taken

	closed  atomic.Bool
	closing context.Context // done once Close has been called
	shut    context.CancelFunc
	blocks  blocks
	elapsed func() time.Duration // the clock of leases

	mu      sync.Mutex // guards below
	drivers map[string]*host.Driver
	opened  map[*store]*openedStore
}

// An Option changes how a manager is opened.
type Option func(*CacheManager)

// WithLogger sends the manager's log, and the drivers' own lines, to logger
// instead of slog.Default. nil changes nothing.
func WithLogger(logger *slog.Logger) Option {
	return func(m *CacheManager) { m.logger = cmp.Or(logger, m.logger) }
}

// WithHook adds a hook that meets every call, after those added before. nil is
// none.
func WithHook(h Hook) Option {
	return func(m *CacheManager) {
		if h != nil {
			m.hooks = append(m.hooks, h)
		}
	}
}

// WithFile lays the file at path over the one that Open is given and over those
// added before: mappings merge key by key, anything else replaces. OpenConfig
// takes no files.
func WithFile(path string) Option {
	return func(m *CacheManager) { m.files = append(m.files, path) }
}

// Open reads the configuration at path, further files over it, and the
// environment over those, and returns a manager for its stores. "" are the files
// that $CACHEWRIGHT_CONFIG lists, separated as in $PATH, else config.yaml. ctx
// bounds the opening and nothing later.
//
// Everything that the file itself and the built-in drivers can tell is checked
// at once: the error matches ErrInvalidConfig and lists every problem as
// FILE:LINE: key: reason. No driver starts before one of its stores is used.
func Open(ctx context.Context, path string, opts ...Option) (*CacheManager, error) {
	m := newManager(ctx, opts)
	c, err := config.Load(ctx, path, m.options())
	if err != nil {
		return nil, err
	}
	return m.configured(c)
}

// OpenConfig is Open for a configuration that the program itself makes. The
// environment has no say in it.
func OpenConfig(ctx context.Context, c Config, opts ...Option) (*CacheManager, error) {
	m := newManager(ctx, opts)
	if len(m.files) > 0 {
		return nil, fmt.Errorf("%w: WithFile goes with Open, not with OpenConfig", ErrInvalidConfig)
	}
	checked, err := config.FromMap(c.source(), m.options())
	if err != nil {
		return nil, err
	}
	return m.configured(checked)
}

// options let the configuration check what the drivers, codecs and layers
// linked into this program can tell.
func (m *CacheManager) options() config.Options {
	return config.Options{
		Over:   m.files,
		Codecs: codecsKnown(),

		ForeignCodecs: m.foreign,
		Compressions:  seal.Compressions(),
		Ciphers:       seal.Ciphers(),
		Schemas: func(name string) (sdk.Schema, bool) {
			if d, ok := m.inProcess[name]; ok {
				return d.Schema, true
			}
			d, ok := builtin.Lookup(name)
			return d.Schema, ok
		},
	}
}

func newManager(ctx context.Context, opts []Option) *CacheManager {
	m := &CacheManager{
		logger:    slog.Default(),
		inProcess: inproc.From(ctx),
		elapsed:   bootclock.Now,
		drivers:   make(map[string]*host.Driver),
		opened:    make(map[*store]*openedStore),
	}
	if m.inProcess != nil {
		m.elapsed = bootclock.Wall // which fake time can stand in for
	}
	for _, opt := range opts {
		opt(m)
	}
	return m
}

func (m *CacheManager) configured(c *config.Config) (*CacheManager, error) {
	m.config = c
	m.closing, m.shut = context.WithCancel(context.Background())
	m.repositories = make(map[string]*CacheRepository, len(c.Stores))
	for name, s := range c.Stores {
		r, err := m.repository(s)
		if err != nil {
			return nil, fmt.Errorf("%w: %v: stores.%s: %w", ErrInvalidConfig, s.Pos, name, err)
		}
		m.repositories[name] = r
	}
	m.fallback = m.repositories[c.Default]
	return m, nil
}

func (m *CacheManager) repository(c config.Store) (*CacheRepository, error) {
	layers, err := sealer(c)
	if err != nil {
		return nil, err
	}
	codec := codecNamed(c.Codec)
	if codec == nil {
		codec = foreignCodec{c.Codec}
	}
	s := &store{
		manager: m,
		name:    c.Name,
		driver:  c.Driver,
		codec:   codec,
		timeout: c.Timeout,
		lock:    c.Lock.Strategy,
		timing:  lock.Timing{Timeout: c.Lock.Timeout, Wait: c.Lock.Wait, Lease: c.Lock.Lease},

		layers:      layers,
		defaultTTL:  c.DefaultTTL,
		ttlJitter:   c.TTLJitter,
		missOnError: c.MissOnError,
	}
	if c.Prefix != "" {
		s.prefix = c.Prefix + ":"
	}
	s.open = func(ctx context.Context) (host.Store, error) { return m.openStore(ctx, c) }
	s.loads.manager = m
	return &CacheRepository{s, codec}, nil
}

// Store is ICacheManager's.
func (m *CacheManager) Store(name string) (ICacheRepository, error) {
	if name == "" {
		return m.fallback, nil
	}
	r, ok := m.repositories[name]
	if !ok {
		return nil, fmt.Errorf("%w %q; the configuration has %s", ErrUnknownStore, name,
			strings.Join(slices.Sorted(maps.Keys(m.repositories)), ", "))
	}
	return r, nil
}

// openStore opens one store of a driver, whose schema is known only now where
// the driver is a program of its own.
func (m *CacheManager) openStore(ctx context.Context, c config.Store) (host.Store, error) {
	if d, ok := m.inProcess[c.Driver]; ok {
		options, err := m.config.CheckStore(c.Name, d.Schema)
		if err != nil {
			return nil, err
		}
		return d.Open(ctx, options)
	}
	d, err := m.driver(c.Driver)
	if err != nil {
		return nil, err
	}
	described, err := d.Describe(ctx)
	if err != nil {
		return nil, err
	}
	options, err := m.config.CheckStore(c.Name, described.Schema)
	if err != nil {
		return nil, err
	}
	return d.Open(ctx, c.Name, options)
}

func (m *CacheManager) driver(name string) (*host.Driver, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed.Load() {
		return nil, ErrClosed
	}
	d, ok := m.drivers[name]
	if !ok {
		d = host.New(m.spec(name))
		m.drivers[name] = d
	}
	return d, nil
}

// adopt keeps an opened store for Close; a closed manager takes none.
func (m *CacheManager) adopt(s *store, o *openedStore) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed.Load() {
		return false
	}
	m.opened[s] = o
	s.opened.Store(o)
	return true
}

// Warm starts every driver and opens every store, so that what only a driver
// can tell is told now. It returns all errors, joined; the stores without one
// are ready.
func (m *CacheManager) Warm(ctx context.Context) error {
	errs := make([]error, len(m.config.Order))
	var wg sync.WaitGroup
	for i, name := range m.config.Order {
		wg.Go(func() { _, errs[i] = m.repositories[name].Capabilities(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Close stops the manager: new calls fail with ErrClosed, waits for locks end
// with it, detached resolvers of Remember get their context cancelled, running
// calls, blocks under locks and resolvers come to their end, then stores close
// and drivers stop. What isn't over when ctx ends is cut off, and ctx's error is
// returned. A second Close does nothing.
func (m *CacheManager) Close(ctx context.Context) error {
	m.mu.Lock()
	first := m.closed.CompareAndSwap(false, true)
	m.mu.Unlock()
	if !first {
		return nil
	}
	m.shut()
	err := m.blocks.drain(ctx)
	return errors.Join(err, m.closeStores(ctx), m.closeDrivers(ctx))
}

func (m *CacheManager) closeStores(ctx context.Context) error {
	return sideBySide(maps.Keys(m.opened), func(s *store) error {
		if err := m.opened[s].Close(ctx); err != nil {
			return &Error{Op: "close", Store: s.name, Driver: s.driver, Err: err}
		}
		return nil
	})
}

func (m *CacheManager) closeDrivers(ctx context.Context) error {
	return sideBySide(maps.Values(m.drivers), func(d *host.Driver) error { return d.Close(ctx) })
}

// sideBySide ends all at the same time, so that those which hang cost their
// patience once and not each.
func sideBySide[T any](all iter.Seq[T], end func(T) error) error {
	var errs []error
	var wg sync.WaitGroup
	var mu sync.Mutex // guards errs
	for one := range all {
		wg.Go(func() {
			err := end(one)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
