// Command deferred counts visits over HTTP. It starts without a cache: the first
// request that needs one opens it, and where that fails the next request tries
// again. On SIGINT or SIGTERM it ends its requests first and then its cache. Run
// it from the root of the repository.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os/signal"
	"syscall"

	_ "github.com/cachewright/cachewright/drivers/builtin"
)

func main() {
	config := flag.String("config", "config.yaml", "the configuration, read when the cache is first needed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(ctx, l, NewVisits(*config)); err != nil {
		log.Fatal(err)
	}
}
