package statements

import (
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
	code := m.Run()
	shared.end()
	os.Exit(code)
}
