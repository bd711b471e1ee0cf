// Command cachewright-driver-memcached serves the memcached driver to a host.
package main

import (
	"github.com/cachewright/cachewright/drivers/memcached"
	"github.com/cachewright/cachewright/sdk"
)

func main() { sdk.Serve(memcached.Driver) }
