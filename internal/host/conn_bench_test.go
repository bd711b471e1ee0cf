package host

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// BenchmarkGet reads one value through gRPC over a unix socket, both ends in
// this process. Allocations are those of both ends.
func BenchmarkGet(b *testing.B) {
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour) // as every call of a host has
	defer cancel()
	for _, size := range []int{100, 4 << 10, 1 << 20} {
		s := benchmarked(b, bytes.Repeat([]byte("v"), size))
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, ok, err := s.Get(ctx, "key"); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
		b.Run(fmt.Sprintf("size=%d/callers=64", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, ok, err := s.Get(ctx, "key"); !ok || err != nil {
						b.Error(ok, err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkGetMany reads 100 values in one call.
func BenchmarkGetMany(b *testing.B) {
	s := benchmarked(b, bytes.Repeat([]byte("v"), 100))
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprint("key", i)
		if err := s.Set(b.Context(), keys[i], []byte("value"), 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if answers, err := s.GetMany(b.Context(), keys); err != nil || len(answers) != len(keys) {
			b.Fatal(len(answers), err)
		}
	}
}

// BenchmarkGetHere is the same without a wire.
func BenchmarkGetHere(b *testing.B) {
	in, err := opening(&mapStore{entries: map[string][]byte{"key": make([]byte, 100)}}).Open(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := in.Get(b.Context(), "key"); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func benchmarked(b *testing.B, value []byte) Store {
	b.Helper()
	far := overUnixSocket(b, opening(&mapStore{entries: map[string][]byte{"key": value}}))
	s, err := far.conn.open(b.Context(), "s", nil, wire.ProtocolMax)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

var _ sdk.Store = (*mapStore)(nil)
