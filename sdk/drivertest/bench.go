package drivertest

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/cachewright/cachewright/sdk"
)

const (
	benchKeys  = 1000
	benchValue = 100 // bytes
	benchBatch = 100 // keys of one GetMany
)

// Bench measures Get, Set and GetMany of values of 100 bytes, with one caller
// and with 64, in every mode. config is as in Run, and is called once per mode.
func Bench(b *testing.B, d sdk.Driver, config func(testing.TB) map[string]any) {
	if Child(d); inChild() {
		b.Skip("this process serves another driver")
	}
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			s, err := m.launch(b, d).open(b.Context(), config(b))
			if err != nil {
				b.Fatalf("open a store: %v", err)
			}
			b.Cleanup(func() { s.Close(context.WithoutCancel(b.Context())) })
			keys := benchFill(b, s)
			for _, op := range benchOperations {
				for _, callers := range []int{1, callers} {
					b.Run(fmt.Sprintf("%s-%d", op.name, callers), func(b *testing.B) {
						benchOperation(b, callers, func(n int) error { return op.call(b.Context(), s, keys, n) })
					})
				}
			}
		})
	}
}

var benchOperations = []struct {
	name string
	call func(ctx context.Context, s Store, keys []string, n int) error
}{
	{"get", func(ctx context.Context, s Store, keys []string, n int) error {
		_, ok, err := s.Get(ctx, keys[n%benchKeys])
		if err == nil && !ok {
			err = fmt.Errorf("key %d is a miss", n%benchKeys)
		}
		return err
	}},
	{"set", func(ctx context.Context, s Store, keys []string, n int) error {
		return s.Set(ctx, keys[n%benchKeys], make([]byte, benchValue), sdk.NoExpiry)
	}},
	{"get-many", func(ctx context.Context, s Store, keys []string, n int) error {
		first := n % (benchKeys - benchBatch)
		_, err := s.GetMany(ctx, keys[first:first+benchBatch])
		return err
	}},
}

func benchFill(b *testing.B, s Store) []string {
	keys := make([]string, benchKeys)
	entries := make([]sdk.Entry, benchKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("drivertest:bench:%04d", i)
		entries[i] = sdk.Entry{Key: keys[i], Value: make([]byte, benchValue)}
	}
	if err := s.SetMany(b.Context(), entries); err != nil {
		b.Fatalf("fill the store: %v", err)
	}
	return keys
}

func benchOperation(b *testing.B, callers int, call func(n int) error) {
	b.ReportAllocs()
	if callers == 1 {
		for n := 0; b.Loop(); n++ {
			if err := call(n); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	var n atomic.Int64
	b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := call(int(n.Add(1))); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
