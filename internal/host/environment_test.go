package host

import (
	"slices"
	"strings"
	"testing"
)

func TestADriverInheritsTheAllowListAndNothingElse(t *testing.T) {
	t.Parallel()
	host := []string{
		"PATH=/bin", "HOME=/home/a", "LC_ALL=C", "LANG=de", "TZ=UTC", "https_proxy=http://p",
		"AWS_SECRET_ACCESS_KEY=s", "PLUGIN_CLIENT_CERT=x", "CACHEWRIGHT_DRIVER_COOKIE=x",
		"CACHEWRIGHT_BUILTIN=file", "CACHEWRIGHT_CONFIG=x", "REDIS_PASSWORD=s", "LCX=1", "TMPDIR=/t",
	}
	got, err := environment(host, map[string]string{"TMPDIR": "/mine", "LD_LIBRARY_PATH": "/lib"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"HOME=/home/a", "LANG=de", "LC_ALL=C", "LD_LIBRARY_PATH=/lib", "PATH=/bin",
		"TMPDIR=/mine", "TZ=UTC", "https_proxy=http://p",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVariablesOfTheHandshakeCanNotBeConfigured(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"PLUGIN_CLIENT_CERT", "PLUGIN_UNIX_SOCKET_DIR", "CACHEWRIGHT_DRIVER_COOKIE", "CACHEWRIGHT_BUILTIN", "", "A=B", "A\x00"} {
		_, err := environment(nil, map[string]string{name: "secret"})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("env %q: got %v, want a refusal without the value", name, err)
		}
	}
}
