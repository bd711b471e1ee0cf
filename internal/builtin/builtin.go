// Package builtin is the table of the drivers that are linked into this
// executable. Package drivers/builtin fills it; package host re-executes the
// executable as one of them, and package core reads their schemas.
package builtin

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

var (
	mu      sync.RWMutex
	drivers = map[string]sdk.Driver{}
)

// Register adds a driver under its name. A second one of the same name panics:
// two packages of this module claim it.
func Register(d sdk.Driver) {
	mu.Lock()
	defer mu.Unlock()
	if _, taken := drivers[d.Name]; taken {
		panic(fmt.Sprintf("builtin: driver %q is registered twice", d.Name))
	}
	drivers[d.Name] = d
}

// Lookup finds a driver by name.
func Lookup(name string) (sdk.Driver, bool) {
	mu.RLock()
	defer mu.RUnlock()
	d, ok := drivers[name]
	return d, ok
}

// Names lists the drivers, sorted.
func Names() []string {
	mu.RLock()
	defer mu.RUnlock()
	return slices.Sorted(maps.Keys(drivers))
}

// Serve turns this process into a built-in driver and never returns, if a host
// started it as one. In any other process it does nothing.
func Serve() {
	name := os.Getenv(wire.BuiltinKey)
	if name == "" || os.Getenv(wire.CookieKey) != wire.CookieValue {
		return
	}
	if os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() {
		fail("a program with raised privileges does not become a driver")
	}
	d, ok := Lookup(name)
	if !ok {
		fail(fmt.Sprintf("no driver %q is built into this program", name))
	}
	sdk.Serve(d)
	os.Exit(0)
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "cachewright: "+why)
	os.Exit(1)
}
