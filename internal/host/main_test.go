//go:build unix

package host

import (
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/cachewright/cachewright/internal/builtin"
	"github.com/cachewright/cachewright/sdk"
)

// The test binary is many programs: a host that runs tests, a built-in driver,
// a driver that is run as a command, drivers that are broken in various ways,
// and hosts that die. This variable says which.
const roleKey = "HOST_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleKey)
	if role != "host without built-ins" {
		builtin.Register(testDriver)
	}
	if os.Getenv("HOST_TEST_BAD_INIT") != "" {
		badInit()
	}
	builtin.Serve()
	switch {
	case role == "":
		os.Setenv("GORACE", "atexit_sleep_ms=0") // for the children: a race detector lingers for a second
		os.Exit(m.Run())
	case role == "driver":
		sdk.Serve(testDriver)
	case badDrivers[role] != nil:
		badDrivers[role]()
	case hosts[role] != nil:
		slog.SetDefault(slog.New(slog.DiscardHandler))
		hosts[role]()
	default:
		fmt.Fprintln(os.Stderr, "no such role:", role)
	}
	os.Exit(1)
}

// command is the test binary as a driver of a role.
func command(t testing.TB, role string) Spec {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	return Spec{Name: role, Command: []string{self}, Env: map[string]string{roleKey: role}}
}
