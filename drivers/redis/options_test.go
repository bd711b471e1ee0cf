package redis_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/sdk"
)

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	nested := func(name string, options map[string]any) map[string]any { return map[string]any{name: options} }
	for _, c := range []struct {
		name    string
		options map[string]any
		keys    []string // that the error names
	}{
		{"two places", map[string]any{"addr": "h:1", "cluster": map[string]any{"addrs": []string{"h:1"}}}, []string{"exclude each other"}},
		{"an empty place", map[string]any{"addr": ""}, []string{"addr: wants host:port"}},
		{"an empty URL", map[string]any{"url": ""}, []string{"url"}},
		{"an empty Cluster", map[string]any{"cluster": map[string]any{"addrs": []string{}}}, []string{"cluster.addrs: is required"}},
		{"empty Sentinels", map[string]any{"sentinel": map[string]any{"master": "main", "addrs": []string{}}}, []string{"sentinel.addrs: is required"}},
		{"a URL and a place", map[string]any{"addr": "h:1", "url": "redis://h:1"}, []string{"exclude each other"}},
		{"a URL and a database", map[string]any{"url": "redis://h:1", "db": 1}, []string{"url"}},
		{"an address without a port", map[string]any{"addr": "h:"}, []string{"addr"}},
		{"an address that is a URL", map[string]any{"addr": "redis://h:1"}, []string{"addr"}},
		{"an IPv6 address without brackets", map[string]any{"addr": "::1"}, []string{"addr"}},
		{"a negative database", map[string]any{"db": -1}, []string{"db"}},
		{"a database of a Cluster", map[string]any{"db": 1, "cluster": map[string]any{"addrs": []string{"h:1"}}}, []string{"db"}},
		{"a user without a password", map[string]any{"username": "u"}, []string{"username"}},
		{"Sentinels without a name", nested("sentinel", map[string]any{"addrs": []string{"h:1"}}), []string{"sentinel.master"}},
		{"a name without Sentinels", nested("sentinel", map[string]any{"master": "m"}), []string{"sentinel.addrs"}},
		{"a Sentinel's user without a password", nested("sentinel", map[string]any{"master": "m", "addrs": []string{"h:1"}, "username": "u"}), []string{"sentinel.username"}},
		{"a time of nothing", map[string]any{"dial_timeout": "0s", "stall_timeout": "-1s"}, []string{"dial_timeout", "stall_timeout"}},
		{"too few and too many connections", map[string]any{"pipelines": 0, "pool_size": 1001}, []string{"pipelines", "pool_size"}},
		{"a name of two words", map[string]any{"client_name": "a b"}, []string{"client_name"}},
		{"TLS on a socket", map[string]any{"addr": "/run/redis.sock", "tls": map[string]any{"enabled": true}}, []string{"tls.enabled"}},
		{"an option that isn't", map[string]any{"host": "h"}, []string{"host"}},
	} {
		_, err := redis.Driver.Open(t.Context(), c.options)
		if !errors.Is(err, sdk.ErrInvalidOptions) {
			t.Errorf("%s: %v; want ErrInvalidOptions", c.name, err)
			continue
		}
		for _, key := range c.keys {
			if !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %v; want it to name %s", c.name, err, key)
			}
		}
	}
}

func TestAStoreOpensWithoutAServer(t *testing.T) {
	t.Parallel()
	for space, options := range map[string]map[string]any{
		"redis 127.0.0.1:6379, database 0":      nil,
		"redis h:6379, database 2":              {"addr": "h", "db": 2},
		"redis /run/redis.sock, database 0":     {"addr": "/run/redis.sock"},
		"redis h:1, database 7":                 {"url": "redis://user:p%40ss@h:1/7"},
		"redis /run/redis.sock, database 3":     {"url": "unix://:p@/run/redis.sock?db=3"},
		"redis [::1]:1, database 0":             {"addr": "[::1]:1"},
		"redis main of a:26379,b:1, database 1": {"db": 1, "sentinel": map[string]any{"master": "main", "addrs": []string{"b:1", "a"}}},
		"redis cluster a:1,b:6379":              {"cluster": map[string]any{"addrs": []string{"b", "a:1"}}},
	} {
		traits := opened(t, options).Traits()
		if traits.Space != space {
			t.Errorf("%v have the space %q; want %q", options, traits.Space, space)
		}
		if traits.LockStrategy != sdk.StrategyRedlock || traits.LockScope != sdk.ScopeCluster || !traits.ReleaseCompares || traits.Class != sdk.ClassOverlap {
			t.Errorf("%s: traits %+v", space, traits)
		}
	}
}
