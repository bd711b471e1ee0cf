// Command refresh-counter counts refreshes over HTTP: POST / adds one, under a
// lock that all requests share.
package main

import (
	"context"
	"log"
	"net/http"

	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin"
)

// Cache is opened by the first request that needs it.
var Cache = cache.NewDeferred(func(ctx context.Context) (*cache.CacheManager, error) {
	return cache.Open(ctx, "config.yaml")
})

func main() {
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", routes(&RefreshCounter{Cache})))
}

func routes(counter *RefreshCounter) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", counter.Refresh)
	return mux
}
