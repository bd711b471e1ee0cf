// Package demo is the main job in one run: many callers ask for a summary that
// is costly to make, through drivers that run as processes, and a driver is
// killed while they do.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

const (
	callers   = 200
	key       = "summary"
	lockKey   = "summary:build"
	lockWait  = 30 * time.Second
	lifetime  = time.Minute
	closeTime = 10 * time.Second
)

// Options change a demonstration.
type Options struct {
	Dir     string // the tree to summarize
	Metrics string // where to serve metrics, "127.0.0.1:0" for any free port; "" serves none
	Keep    bool   // go on serving metrics when all is done, until the context ends
}

// An ArgumentError is an option that trying again doesn't mend.
type ArgumentError struct{ error }

func (e ArgumentError) Unwrap() error { return e.error }

func argumentf(format string, args ...any) error { return ArgumentError{fmt.Errorf(format, args...)} }

// Run plays the demonstration on the tree below a folder and reports to out. It
// fails if a store needed more than one scan or if callers lost a call that is
// safe to repeat.
func Run(ctx context.Context, o Options, out io.Writer, logger *slog.Logger) error {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return argumentf("--dir: %s is not a directory that can be read", dir)
	}
	folder, err := os.MkdirTemp("", "cachewright-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	d := &demo{dir: dir, out: out}
	opts := []cache.Option{cache.WithHook(&d.tally), cache.WithLogger(logger)}
	if o.Metrics != "" {
		if d.metrics, err = serveMetrics(o.Metrics); err != nil {
			return err
		}
		opts = append(opts, cache.WithHook(d.metrics.telemetry))
	}
	if d.caches, err = cache.OpenConfig(ctx, configuration(folder), opts...); err != nil {
		return errors.Join(err, d.metrics.close(ctx))
	}
	err = d.measured(ctx, o.Keep)
	err = errors.Join(err, d.close(ctx), d.metrics.close(ctx))
	return errors.Join(err, d.deaf)
}

// measured plays while metrics are served, if they are to be.
func (d *demo) measured(ctx context.Context, keep bool) error {
	if d.metrics == nil {
		return d.play(ctx)
	}
	if err := d.metrics.observe(d.caches); err != nil {
		return err
	}
	d.say("Metrics are at %s\n", d.metrics.url)
	if err := d.play(ctx); err != nil || !keep || d.deaf != nil {
		return err
	}
	d.say("\nMetrics stay at %s until you interrupt this.\n", d.metrics.url)
	<-ctx.Done()
	return nil
}

func configuration(folder string) cache.Config {
	local := cache.LockConfig{Strategy: "local"}
	return cache.Config{
		Default: "file",
		Prefix:  "demo",
		Stores: map[string]cache.StoreConfig{
			"file":   {Driver: "file", Options: map[string]any{"path": folder}},
			"memory": {Driver: "memory", Lock: local},
		},
	}
}

type demo struct {
	dir     string
	out     io.Writer
	caches  *cache.CacheManager
	metrics *metrics // nil: none
	tally   tally
	deaf    error // why the report can't be written
}

func (d *demo) play(ctx context.Context) error {
	d.say("%d callers at once ask for a summary of %s.\n", callers, d.dir)
	for _, name := range []string{"file", "memory"} {
		if err := d.ask(ctx, name); err != nil || d.deaf != nil {
			return err
		}
	}
	return d.kill(ctx)
}

func (d *demo) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return d.caches.Close(ctx)
}

func (d *demo) say(format string, args ...any) {
	if _, err := fmt.Fprintf(d.out, format, args...); d.deaf == nil {
		d.deaf = err
	}
}

// ask sends all callers to one store.
func (d *demo) ask(ctx context.Context, name string) error {
	store, err := d.caches.Store(name)
	if err != nil {
		return err
	}
	d.tally.reset()
	var scans atomic.Int64
	took := make([]time.Duration, callers)
	errs := make([]error, callers)
	var summary cache.Value
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			start := time.Now()
			v, err := d.summary(ctx, store, &scans)
			took[i], errs[i] = time.Since(start), err
			if i == 0 {
				summary = v
			}
		})
	}
	wg.Wait()
	if err := firstOf(errs); err != nil {
		return err
	}
	return d.report(name, summary, took, scans.Load())
}

// firstOf is the first failure, with the number of all: hundreds of callers
// would say the same.
func firstOf(errs []error) error {
	failed := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return failed[0]
	}
	return fmt.Errorf("%d of %d callers failed, the first: %w", len(failed), len(errs), failed[0])
}

// summary is the double check: read, and on a miss read again under a lock
// before building.
func (d *demo) summary(ctx context.Context, store cache.ICacheRepository, scans *atomic.Int64) (cache.Value, error) {
	v, err := store.Get(ctx, key)
	if err != nil || v.Found() {
		return v, err
	}
	err = store.(cache.Locker).Lock(lockKey, cache.LockTimeout(lockWait)).Do(ctx, func(ctx context.Context) error {
		v, err = store.Remember(ctx, key, lifetime, func(ctx context.Context) (any, error) {
			scans.Add(1)
			return Summarize(ctx, d.dir)
		})
		return err
	})
	return v, err
}

func (d *demo) report(name string, v cache.Value, took []time.Duration, scans int64) error {
	var s Summary
	if err := v.Decode(&s); err != nil {
		return err
	}
	driver := d.driver(name)
	hits, misses := d.tally.reads()
	d.say("\nstore %s, served by driver %s in process %d\n", name, driver.Name, driver.PID)
	d.say("  %d files, %d bytes, the largest %s\n", s.Files, s.Bytes, filepath.Base(s.Largest))
	d.say("  types:")
	for _, t := range s.commonest(6) {
		d.say("  %s %d", t, s.Types[t])
	}
	d.say("\n  scans of the tree: %d\n", scans)
	d.say("  reads: %d hits, %d misses, each caller's before the lock and, after a miss, another under it\n", hits, misses)
	d.say("  latency: %s\n", spread(took))
	if scans != 1 {
		return fmt.Errorf("store %s: the tree was scanned %d times, and once was promised", name, scans)
	}
	return nil
}

func (d *demo) driver(name string) cache.DriverInfo {
	for _, info := range d.caches.Drivers() {
		if info.Name == name {
			return info
		}
	}
	return cache.DriverInfo{Name: name}
}
