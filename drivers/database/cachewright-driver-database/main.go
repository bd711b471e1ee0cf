// Command cachewright-driver-database serves the database driver.
package main

import (
	"github.com/cachewright/cachewright/drivers/database"
	"github.com/cachewright/cachewright/sdk"
)

func main() { sdk.Serve(database.Driver) }
