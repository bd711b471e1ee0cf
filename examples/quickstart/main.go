// Command quickstart remembers a value for a minute, under a lock, in the default
// store of config.yaml. Run it from the root of the repository.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin"
)

func main() {
	ctx := context.Background()
	caches, err := cache.Open(ctx, "config.yaml")
	if err != nil {
		log.Fatal(err)
	}
	defer caches.Close(ctx)

	err = caches.Lock("report:build", cache.LockTimeout(3*time.Second)).Do(ctx, func(ctx context.Context) error {
		report, err := cache.Of[string](caches).Remember(ctx, "report", time.Minute, build)
		fmt.Println(report)
		return err
	})
	if err != nil {
		log.Println(err)
	}
}

func build(context.Context) (string, error) {
	return "built at " + time.Now().Format(time.TimeOnly), nil
}
