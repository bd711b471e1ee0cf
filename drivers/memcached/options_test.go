package memcached

import (
	"strings"
	"testing"

	"github.com/cachewright/cachewright/sdk"
)

func TestOptionsThatCantBeAreRefusedTogether(t *testing.T) {
	t.Parallel()
	_, err := Driver.Open(t.Context(), map[string]any{
		"servers": []any{"a:1", "A:1", "b c:1"}, "username": "a b", "password": "secret\n",
		"tls":          map[string]any{"ca": "/ca.pem"},
		"dial_timeout": "0s", "stall_timeout": "-1s", "connections": 0,
	})
	fails(t, err, sdk.ErrInvalidOptions, "servers: names a:1 twice", "server 3 is neither", "username: must not hold blanks",
		"password: must not hold blanks", "tls.enabled: must be true", "dial_timeout: must be positive", "stall_timeout: must be positive",
		"connections: must be 1 to 1000")
	keepsSecret(t, err, "secret")
}

func TestOptionsThatDontGoTogether(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options map[string]any
		want    string
	}{
		{map[string]any{"servers": []any{}}, "servers: must name at least one"},
		{map[string]any{"servers": []any{""}}, "server 1 is neither"},
		{map[string]any{"servers": []any{"a:b:c"}}, "server 1 is neither"},
		{map[string]any{"servers": []any{"user@a:1"}}, "server 1 is neither"},
		{map[string]any{"servers": []any{":11211"}}, "server 1 is neither"},
		{map[string]any{"servers": []any{"a:"}}, "server 1 is neither"},
		{map[string]any{"username": "app"}, "username: needs a password"},
		{map[string]any{"password": "secret"}, "password: needs a username"},
		{map[string]any{"tls": map[string]any{"enabled": true, "cert": "/c.pem"}}, "tls.cert: and tls.key"},
		{map[string]any{"servers": []any{"a:1", "/run/m"}, "tls": map[string]any{"enabled": true}}, "tls.enabled: must be false"},
	} {
		_, err := Driver.Open(t.Context(), test.options)
		fails(t, err, sdk.ErrInvalidOptions, test.want)
		keepsSecret(t, err, "secret")
	}
}

func TestServersAreNamedInOneWay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]address{
		"127.0.0.1:11211":      {"tcp", "127.0.0.1:11211"},
		"cache":                {"tcp", "cache:11211"},
		"Cache.Example.org:1":  {"tcp", "cache.example.org:1"},
		"[::1]:11211":          {"tcp", "[::1]:11211"},
		"/run/memcached.sock":  {"unix", "/run/memcached.sock"},
		"/run/with:colon.sock": {"unix", "/run/with:colon.sock"},
	} {
		if got, ok := place(text); got != want || !ok {
			t.Errorf("%s is %v, %v", text, got, ok)
		}
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	in, err := Driver.Open(t.Context(), map[string]any{"servers": "b:1, a"})
	must(t, err)
	defer in.Close(t.Context())
	traits := in.Traits()
	if traits.ReleaseCompares || traits.LockStrategy != sdk.StrategyRedlock || traits.LockScope != sdk.ScopeCluster || traits.Class != sdk.ClassOverlap ||
		traits.Space != "a:11211,b:1" || traits.Granularity != 1e6 || traits.MaxKey != 1024 {
		t.Errorf("the traits are %+v", traits)
	}
	has := in.Capabilities()
	for _, c := range []sdk.Capability{sdk.CanCompareDelete, sdk.CanLease, sdk.CanRenewLease, sdk.CanBatch, sdk.CanReport} {
		if !has.Has(c) {
			t.Errorf("%s is missing", c)
		}
	}
	for _, c := range []sdk.Capability{sdk.CanList, sdk.CanWaitLease, sdk.CanClear} {
		if has.Has(c) {
			t.Errorf("%s is announced", c)
		}
	}
	if o, ok := Driver.Schema.Lookup("password"); !ok || !o.Secret || strings.Contains(o.Doc, "secret") {
		t.Errorf("the password is %+v", o)
	}
}
