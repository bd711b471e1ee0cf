// Package builtin links the built-in drivers into a program. A blank import is
// enough:
//
//	import _ "github.com/cachewright/cachewright/drivers/builtin"
//
// When the program opens a store of a built-in driver, it starts its own
// executable once more, and that process becomes the driver while this package
// is initialised: main does not run there. Package variables and init functions
// of the program do run, as far as they come earlier; they must not end the
// process, wait, read its stdin or open a cache. A program that can't promise
// that runs its drivers as commands of their own.
package builtin

import (
	"github.com/cachewright/cachewright/drivers/database"
	"github.com/cachewright/cachewright/drivers/file"
	"github.com/cachewright/cachewright/drivers/memcached"
	"github.com/cachewright/cachewright/drivers/memory"
	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/internal/builtin"
	"github.com/cachewright/cachewright/sdk"
)

func init() {
	for _, d := range []sdk.Driver{database.Driver, file.Driver, memcached.Driver, memory.Driver, redis.Driver} {
		builtin.Register(d)
	}
	builtin.Serve()
}

// Main says in main what the import does: a process that was started as a
// driver never gets past it. In any other it does nothing.
func Main() { builtin.Serve() }
