package zstd_test

import (
	"context"
	"fmt"
	"log"
	"time"

	_ "github.com/cachewright/cachewright/codecs/zstd"
	"github.com/cachewright/cachewright/core"
)

// With the package linked, a configuration may say compress: zstd, or a program
// the same. Opening a store starts nothing; calls compress and decompress.
func Example() {
	ctx := context.Background()
	caches, err := core.OpenConfig(ctx, core.Config{
		Default: "pages",
		Stores: map[string]core.StoreConfig{"pages": {
			Driver:   "memory",
			Timeout:  time.Second,
			Compress: core.CompressConfig{Algorithm: "zstd", Above: 4096}, // smaller values stay as they are
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(caches.Close(ctx))
	// Output: <nil>
}
