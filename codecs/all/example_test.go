package all_test

import (
	"context"
	"errors"
	"fmt"

	_ "github.com/cachewright/cachewright/codecs/all"
	"github.com/cachewright/cachewright/core"
)

// A tool that opens other people's configurations has every codec. What it lacks
// is named.
func Example() {
	ctx := context.Background()
	for _, codec := range []string{"json", "raw", "msgpack", "protobuf"} {
		caches, err := core.OpenConfig(ctx, core.Config{
			Default: "main",
			Stores:  map[string]core.StoreConfig{"main": {Driver: "memory", Codec: codec}},
		})
		if err == nil {
			err = caches.Close(ctx)
		}
		fmt.Println(codec, err == nil, errors.Is(err, core.ErrInvalidConfig))
	}
	// Output:
	// json true false
	// raw true false
	// msgpack true false
	// protobuf false true
}
