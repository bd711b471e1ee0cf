// Command cachewright-driver-file serves the file driver to a host.
package main

import (
	"github.com/cachewright/cachewright/drivers/file"
	"github.com/cachewright/cachewright/sdk"
)

func main() { sdk.Serve(file.Driver) }
