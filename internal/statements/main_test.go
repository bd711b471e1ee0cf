package statements

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/cachewright/cachewright/drivers/database"
	"github.com/cachewright/cachewright/drivers/file"
	"github.com/cachewright/cachewright/drivers/memcached"
	"github.com/cachewright/cachewright/drivers/memory"
	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/internal/builtin"
	"github.com/cachewright/cachewright/sdk"
)

// TestMain lets the test binary be what a test needs: a driver, another host,
// or the tests.
func TestMain(m *testing.M) {
	for _, d := range []sdk.Driver{file.Driver, memory.Driver, redis.Driver, database.Driver, memcached.Driver} {
		builtin.Register(d)
	}
	builtin.Serve()
	os.Setenv("GORACE", "atexit_sleep_ms=0") // drivers and hosts inherit it: theirs is an end, not a crash
	if role := os.Getenv(roleKey); role != "" {
		if err := roles[role](newPart()); err != nil {
			fmt.Fprintln(os.Stderr, "host:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if !given("test.parallel") {
		_ = flag.Set("test.parallel", "6") // most of them wait for a server or a lease, not for a processor
	}
	code := m.Run()
	shared.end()
	os.Exit(code)
}

// given reports whether a flag stands on the command line.
func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}
