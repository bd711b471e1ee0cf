package xchacha20poly1305_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	_ "github.com/cachewright/cachewright/codecs/xchacha20poly1305"
	"github.com/cachewright/cachewright/core"
)

// With the package linked, a store may have keys, by id. One of them encrypts;
// the others still open what they encrypted before.
func Example() {
	ctx := context.Background()
	caches, err := core.OpenConfig(ctx, core.Config{
		Default: "sessions",
		Stores: map[string]core.StoreConfig{"sessions": {
			Driver: "memory",
			Encrypt: core.EncryptConfig{
				Key: "2026-11",
				Keys: map[string]string{ // 32 bytes each; in YAML: ${file:…} or a variable
					"2026-11": strings.Repeat("0b", 32),
					"2026-05": strings.Repeat("05", 32),
				},
			},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(caches.Close(ctx))
	// Output: <nil>
}
