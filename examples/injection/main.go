// Command injection answers GET / with what a file of orders comes to, and reads
// the file once a minute at most. The service behind it is given its cache as
// an interface and knows no package variable. Run it from the root of the
// repository.
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
	orders := flag.String("orders", "examples/injection/orders.csv", "a line for each order: a customer and an amount")
	flag.Parse()
	caches, err := cache.Open(context.Background(), "config.yaml")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", routes(NewCachedSummary(caches), ordersIn(*orders))))
}
