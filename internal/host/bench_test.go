//go:build unix

package host

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// BenchmarkRemoteGet reads 100 bytes through a driver process, with a deadline as
// core sets one.
func BenchmarkRemoteGet(b *testing.B) {
	d := newDriver(b, command(b, "driver"))
	r := openStore(b, d, nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	must(b, r.Set(ctx, "k", make([]byte, 100), 0))
	get := func() {
		if v, ok, err := r.Get(ctx, "k"); len(v) != 100 || !ok || err != nil {
			b.Error(len(v), ok, err)
		}
	}
	b.Run("1 caller", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			get()
		}
	})
	b.Run("64 callers", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(64 / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				get()
			}
		})
	})
}

// BenchmarkStart is from nothing to an answered Describe, and the stop.
func BenchmarkStart(b *testing.B) {
	for name, spec := range map[string]Spec{
		"command":  command(b, "driver"),
		"built-in": {Name: "testmem", Builtin: true},
	} {
		b.Run(name, func(b *testing.B) {
			var started, stopped time.Duration
			for b.Loop() {
				d := newDriver(b, spec)
				begin := time.Now()
				_, err := d.Describe(guarded(b))
				must(b, err)
				started += time.Since(begin)
				begin = time.Now()
				must(b, d.Close(guarded(b)))
				stopped += time.Since(begin)
			}
			b.ReportMetric(float64(started.Microseconds())/1000/float64(b.N), "ms/start")
			b.ReportMetric(float64(stopped.Microseconds())/1000/float64(b.N), "ms/stop")
		})
	}
}
