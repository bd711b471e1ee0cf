// Command cachewright-driver-memory serves the memory driver.
package main

import (
	"github.com/cachewright/cachewright/drivers/memory"
	"github.com/cachewright/cachewright/sdk"
)

func main() { sdk.Serve(memory.Driver) }
