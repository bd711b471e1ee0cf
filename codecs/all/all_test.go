package all

import (
	"testing"

	"github.com/cachewright/cachewright/core"
)

func TestEverythingIsLinked(t *testing.T) {
	t.Parallel()
	m, err := core.OpenConfig(t.Context(), core.Config{Default: "a", Stores: map[string]core.StoreConfig{"a": {
		Driver: "memory", Codec: "msgpack", Compress: core.CompressConfig{Algorithm: "zstd"},
		Encrypt: core.EncryptConfig{Keys: map[string]string{"a": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
