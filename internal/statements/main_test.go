package statements

import (
	"fmt"
	"os"
	"testing"

	_ "github.com/cachewright/cachewright/drivers/builtin"
)

// TestMain lets the test binary be what a test needs: a driver (which package
// builtin sees to before this runs), another host, or the tests.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleKey); role != "" {
		if err := roles[role](newPart()); err != nil {
			fmt.Fprintln(os.Stderr, "host:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
