package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachewright/cachewright/internal/wire"
)

// inherited are the variables of the host's environment that a driver receives.
// Everything else stays here: applications keep secrets in their environment.
var inherited = []string{
	"PATH", "HOME", "TMPDIR", "TZ", "LANG",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"GODEBUG", "GOTRACEBACK", "GOMEMLIMIT", "GOCOVERDIR", "GORACE",
}

// environment builds a driver's environment from the host's and from what the
// driver's specification adds, sorted by name.
func environment(host []string, added map[string]string) ([]string, error) {
	var env []string
	for _, variable := range host {
		name, _, _ := strings.Cut(variable, "=")
		if _, replaced := added[name]; !replaced && inherits(name) {
			env = append(env, variable)
		}
	}
	for name, value := range added {
		if err := checkVariable(name, value); err != nil {
			return nil, err
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env, nil
}

func inherits(name string) bool {
	return slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_")
}

func checkVariable(name, value string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
		return fmt.Errorf("env: %q can't be an environment variable", name)
	}
	if strings.HasPrefix(name, "PLUGIN_") || name == wire.CookieKey || name == wire.BuiltinKey {
		return fmt.Errorf("env: %s belongs to the handshake between host and driver; remove it", name)
	}
	return nil
}
