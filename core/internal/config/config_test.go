package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

// standIns are schemas as the five drivers have them, and some more to test
// with.
var standIns = map[string]sdk.Schema{
	"file": {
		{Name: "path", Kind: sdk.KindPath, Required: true},
		{Name: "spool", Kind: sdk.KindPath, Default: "./spool"},
	},
	"memory": {
		{Name: "max_bytes", Kind: sdk.KindBytes, Default: "64MiB"},
		{Name: "shards", Kind: sdk.KindInt},
		{Name: "idle", Kind: sdk.KindDuration},
		{Name: "dedicated", Kind: sdk.KindBool},
		{Name: "weight", Kind: sdk.KindFloat},
		{Name: "tls.cert", Kind: sdk.KindString},
		{Name: "maxItems", Kind: sdk.KindInt},
	},
	"redis": {
		{Name: "addr", Kind: sdk.KindString, Default: "127.0.0.1:6379"},
		{Name: "url", Kind: sdk.KindString, Secret: true},
		{Name: "db", Kind: sdk.KindInt},
		{Name: "username", Kind: sdk.KindString},
		{Name: "password", Kind: sdk.KindString, Secret: true},
		{Name: "pause", Kind: sdk.KindDuration, Secret: true},
		{Name: "labels", Kind: sdk.KindMap},
		{Name: "tls.cert", Kind: sdk.KindPath},
		{Name: "tls.verify", Kind: sdk.KindBool, Default: "true"},
	},
	"memcached": {
		{Name: "servers", Kind: sdk.KindStrings, Required: true},
	},
	"database": {
		{Name: "dsn", Kind: sdk.KindString, Required: true, Secret: true},
		{Name: "table", Kind: sdk.KindString, Default: "cache"},
		{Name: "lock_table", Kind: sdk.KindString, Default: "cache_locks"},
	},
}

// linked is Options.Schemas for the stand-ins of that name; all without names.
func linked(names ...string) func(string) (sdk.Schema, bool) {
	return func(driver string) (sdk.Schema, bool) {
		for _, name := range names {
			if name == driver {
				return standIns[driver], true
			}
		}
		schema, ok := standIns[driver]
		return schema, ok && len(names) == 0
	}
}

// write makes a configuration file in a folder of its own.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads a text with an environment, all drivers linked.
func load(t testing.TB, text string, environ ...string) (*Config, error) {
	t.Helper()
	return Load(t.Context(), write(t, text), Options{
		Environ:  append([]string{}, environ...),
		Schemas:  linked(),
		Platform: "linux/amd64",
	})
}

func mustLoad(t testing.TB, text string, environ ...string) *Config {
	t.Helper()
	c, err := load(t, text, environ...)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

func TestLoadReadsEveryKey(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
default: jobs
prefix: app
drivers:
  redis: {start_timeout: 20s, transport: grpc, env: {GODEBUG: x=1}}
  memory:
  acme:
    run: command
    command: [bin/acme, -v]
    sha256: {linux/amd64: "ABCDEF0000000000000000000000000000000000000000000000000000000000", linux/arm64: "0000000000000000000000000000000000000000000000000000000000000000"}
  bare: {run: command, command: [acme]}
stores:
  jobs: {driver: redis, addr: "h:1", prefix: jobs, codec: raw, timeout: 250ms, lock: {strategy: exclusive, lease: 30s, wait: 0s}}
  plain: {driver: memory, lock: {timeout: 3s}}
  alone: {driver: acme, anything: {goes: [1, 2]}, prefix: ""}
`)
	folder := filepath.Dir(c.Path)
	if c.Default != "jobs" || c.Prefix != "app" {
		t.Errorf("default %q, prefix %q; want jobs, app", c.Default, c.Prefix)
	}
	equal(t, "order", c.Order, []string{"jobs", "plain", "alone"})
	equal(t, "redis", c.Drivers["redis"], Driver{
		Name: "redis", Run: RunBuiltin, Env: map[string]string{"GODEBUG": "x=1"}, StartTimeout: 20 * time.Second, Transport: TransportGRPC,
		Pos: Position{File: c.Path, Line: 5},
	})
	equal(t, "memory", c.Drivers["memory"], Driver{Name: "memory", Run: RunBuiltin, Pos: Position{File: c.Path, Line: 6}})
	equal(t, "acme", c.Drivers["acme"], Driver{
		Name: "acme", Run: RunCommand, Command: []string{filepath.Join(folder, "bin/acme"), "-v"}, Spelled: []string{filepath.Join(folder, "bin/acme"), "-v"},
		SHA256: "abcdef0000000000000000000000000000000000000000000000000000000000",
		Pos:    Position{File: c.Path, Line: 7},
	})
	equal(t, "bare", c.Drivers["bare"].Command, []string{"acme"})
	equal(t, "jobs", c.Stores["jobs"], Store{
		Name: "jobs", Driver: "redis", Prefix: "jobs", Codec: "raw", Timeout: 250 * time.Millisecond,
		Lock:    Lock{Strategy: "exclusive", Lease: new(30 * time.Second), Wait: new(time.Duration(0))},
		Options: map[string]any{"addr": "h:1"},
		Pos:     Position{File: c.Path, Line: 13},
	})
	equal(t, "plain", c.Stores["plain"], Store{
		Name: "plain", Driver: "memory", Prefix: "app", Codec: "json", Timeout: 5 * time.Second,
		Lock:    Lock{Timeout: new(3 * time.Second)},
		Options: map[string]any{},
		Pos:     Position{File: c.Path, Line: 14},
	})
	equal(t, "alone's prefix", c.Stores["alone"].Prefix, "")
	equal(t, "alone's options", c.Stores["alone"].Options, map[string]any{"anything": map[string]any{"goes": []any{1, 2}}})
}

func TestLoadTakesAliasesAndMerges(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
default: a
stores:
  a: &base
    driver: redis
    addr: "h:1"
    labels: &labels {team: red}
  b:
    <<: *base
    addr: "h:2"
  c: {<<: [{db: 3}, *base, {db: 4}], prefix: c}
  d: {driver: redis, labels: *labels}
`)
	equal(t, "b", c.Stores["b"].Options, map[string]any{"addr": "h:2", "labels": map[string]any{"team": "red"}})
	equal(t, "c", c.Stores["c"].Options, map[string]any{"addr": "h:1", "db": 3, "labels": map[string]any{"team": "red"}})
	equal(t, "d", c.Stores["d"].Options, map[string]any{"labels": map[string]any{"team": "red"}})
	equal(t, "line of what b wrote", c.Origin("stores.b.addr").Line, 10)
	equal(t, "line of what b took over", c.Origin("stores.b.driver").Line, 5)
}

func TestADriverThatIsNotLinkedIsNoError(t *testing.T) {
	t.Parallel()
	path := write(t, "default: a\nstores:\n  a: {driver: file, path: x}\n  b: {driver: redis, whatever: 1}\n")
	c, err := Load(t.Context(), path, Options{Environ: []string{}, Schemas: linked("file")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.CheckStore("b", standIns["redis"])
	want := path + ":4: stores.b.whatever: is not a key of this store's driver; there are " +
		"driver, prefix, codec, compress, encrypt, timeout, default_ttl, ttl_jitter, on_error, lock, addr, url, db, username, password, pause, labels, tls.cert, tls.verify"
	if err == nil || err.Error() != want {
		t.Errorf("CheckStore = %v\nwant %s", err, want)
	}
	if !errors.Is(err, wire.ErrInvalidConfig) {
		t.Errorf("%v does not match ErrInvalidConfig", err)
	}
	if _, err := c.CheckStore("nope", nil); !errors.Is(err, wire.ErrUnknownStore) {
		t.Errorf("CheckStore of no store = %v; want ErrUnknownStore", err)
	}
}
