// Command document-summary answers GET / with what a folder tree holds, and
// scans the tree once a minute at most, however many ask.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"

	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin"
)

func main() {
	dir := flag.String("dir", "documents", "the tree to summarize")
	flag.Parse()
	opened := cache.NewDeferred(func(ctx context.Context) (*cache.CacheManager, error) {
		return cache.Open(ctx, "config.yaml")
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", routes(&DocumentSummary{Cache: opened, Dir: *dir})))
}

func routes(summary *DocumentSummary) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", summary.Show)
	return mux
}
