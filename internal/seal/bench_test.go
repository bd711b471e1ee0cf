package seal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/internal/seal"
)

func BenchmarkSealAndOpen(b *testing.B) {
	for name, c := range map[string]seal.Config{"compress": compressing, "encrypt": encrypting, "both": both} {
		for _, size := range []int{100, 4 << 10, 256 << 10} {
			s, value := sealer(b, c), []byte(strings.Repeat(`{"name":"Ada","born":1815}`, size/26+1)[:size])
			sealed, err := s.Seal("k", value)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("seal/%s/%d", name, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					_, _ = s.Seal("k", value)
				}
			})
			b.Run(fmt.Sprintf("open/%s/%d", name, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					_, _ = s.Open("k", sealed)
				}
			})
		}
	}
}
