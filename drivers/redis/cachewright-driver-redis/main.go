// Command cachewright-driver-redis serves the redis driver.
package main

import (
	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/sdk"
)

func main() { sdk.Serve(redis.Driver) }
