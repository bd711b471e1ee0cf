// Command custom-codec keeps series of measurements for ten minutes, in a format
// of its own that the configuration calls series: PUT /series/NAME stores a JSON
// list of numbers, GET /series/NAME tells how many they are, and their mean. Run
// it in its folder.
package main

import (
	"context"
	"log"
	"net/http"

	_ "github.com/cachewright/cachewright/codecs/zstd"
	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin"
)

func init() { cache.RegisterCodec(seriesCodec{}) }

func main() {
	caches, err := cache.Open(context.Background(), "config.yaml")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", routes(caches)))
}
