package file

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/cachewright/cachewright/sdk"
)

// BenchmarkGet compares Get with os.ReadFile of the same file.
func BenchmarkGet(b *testing.B) {
	for _, size := range []int{100, 10_000, 100_000, 5 << 20} {
		s := openTest(b)
		must(b, s.Set(b.Context(), "app:users:42", bytes.Repeat([]byte("v"), size), sdk.NoExpiry))
		path := fileOf(s, "app:users:42")
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok, err := s.Get(context.Background(), "app:users:42"); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d bytes by os.ReadFile", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := os.ReadFile(path); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGetParallel(b *testing.B) {
	s := openTest(b)
	must(b, s.Set(b.Context(), "app:users:42", make([]byte, 100), sdk.NoExpiry))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, ok, err := s.Get(context.Background(), "app:users:42"); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
}

func BenchmarkMiss(b *testing.B) {
	s := openTest(b)
	for b.Loop() {
		if _, ok, err := s.Get(context.Background(), "app:users:42"); ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// BenchmarkSet compares Set with the least that replaces a file safely.
func BenchmarkSet(b *testing.B) {
	value := make([]byte, 100)
	for _, sync := range []string{"none", "data"} {
		b.Run("sync "+sync, func(b *testing.B) {
			s := openTest(b, func(o *options) { o.Sync = sync })
			for b.Loop() {
				must(b, s.Set(context.Background(), "app:users:42", value, sdk.NoExpiry))
			}
		})
	}
	b.Run("new keys", func(b *testing.B) {
		s := openTest(b)
		for i := 0; b.Loop(); i++ {
			must(b, s.Set(context.Background(), fmt.Sprint("app:users:", i), value, sdk.NoExpiry))
		}
	})
	b.Run("by os.WriteFile and os.Rename", func(b *testing.B) {
		dir := b.TempDir()
		for b.Loop() {
			must(b, os.WriteFile(dir+"/temp", value, 0o600))
			must(b, os.Rename(dir+"/temp", dir+"/entry"))
		}
	})
}

func BenchmarkIncrement(b *testing.B) {
	s := openTest(b)
	for b.Loop() {
		if _, err := s.Increment(context.Background(), "app:hits", 1, sdk.NoExpiry); err != nil {
			b.Fatal(err)
		}
	}
}
