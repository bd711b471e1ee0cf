package config

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
	"github.com/cachewright/cachewright/sdk"
)

func TestAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	big := filepath.Join(folder, "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("# more\n", maxFile/7+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, path, want string
		environ          []string
		missing          bool
	}{
		{"missing", folder + "/no.yaml", folder + "/no.yaml: no such file or directory; name a configuration here or in $CACHEWRIGHT_CONFIG", nil, true},
		{"missing, named by the variable", "", "$CACHEWRIGHT_CONFIG: " + folder + "/no.yaml: no such file or directory; name a configuration here or in $CACHEWRIGHT_CONFIG",
			[]string{"CACHEWRIGHT_CONFIG=" + folder + "/no.yaml"}, true},
		{"a directory", folder, folder + ": is a directory, not a file", nil, false},
		{"a file for a folder", big + "/config.yaml", big + "/config.yaml: not a directory", nil, false},
		{"a device", os.DevNull, os.DevNull + ": is not a regular file", nil, false},
		{"too large", big, big + ": is larger than 1048576 bytes", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := Load(t.Context(), test.path, Options{Environ: append([]string{}, test.environ...)})
			if err == nil || err.Error() != test.want {
				t.Errorf("Load = %v\nwant %s", err, test.want)
			}
			if !errors.Is(err, wire.ErrInvalidConfig) || errors.Is(err, fs.ErrNotExist) != test.missing {
				t.Errorf("%v: matches ErrInvalidConfig %t, ErrNotExist %t; want true, %t", err,
					errors.Is(err, wire.ErrInvalidConfig), errors.Is(err, fs.ErrNotExist), test.missing)
			}
		})
	}
}

func TestADoneContextReadsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Load(ctx, write(t, "default: a\nstores: {a: {driver: memory}}\n"), Options{Environ: []string{}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Load = %v; want context.Canceled", err)
	}
}

func TestFromMap(t *testing.T) {
	t.Parallel()
	type name string
	c, err := FromMap(map[string]any{
		"default": name("b"),
		"drivers": map[string]any{"acme": map[string]any{"run": "command", "command": []string{"/acme"}, "env": map[string]string{"A": "$B"}}},
		"stores": map[string]any{
			"b": map[string]any{
				"driver": "memory", "timeout": 2 * time.Second, "max_bytes": sdk.Bytes(64 << 20), "shards": int32(4),
				"lock": map[string]any{"timeout": time.Duration(0)},
			},
			"a": map[string]any{"driver": "redis", "password": "pa${ss", "labels": map[string]string{"x": "y"}, "db": uint8(3)},
		},
	}, Options{Schemas: linked()})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "order", c.Order, []string{"a", "b"})
	equal(t, "timeout", c.Stores["b"].Timeout, 2*time.Second)
	equal(t, "lock", c.Stores["b"].Lock, Lock{Timeout: new(time.Duration(0))})
	equal(t, "acme", c.Drivers["acme"], Driver{Name: "acme", Run: RunCommand, Command: []string{"/acme"}, Spelled: []string{"/acme"}, Env: map[string]string{"A": "$B"}})
	for store, want := range map[string]map[string]any{
		"a": {"password": "pa${ss", "labels": map[string]any{"x": "y"}, "db": "3"},
		"b": {"max_bytes": "64MiB", "shards": "4"},
	} {
		options, err := c.CheckStore(store, standIns[c.Stores[store].Driver])
		if err != nil {
			t.Fatal(err)
		}
		equal(t, store, options, want)
	}
}

func TestFromMapReportsWithoutPositions(t *testing.T) {
	t.Parallel()
	endless := map[string]any{}
	endless["more"] = endless
	wide := map[string]any{}
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		wide[key] = wide
	}
	if _, err := FromMap(wide, Options{}); err == nil || !strings.Contains(err.Error(), "holds too many values") {
		t.Errorf("a map that holds itself five times: %v", err)
	}
	_, err := FromMap(map[string]any{
		"default": "x",
		"stores": map[string]any{
			"a": map[string]any{"driver": "memory", "timeout": 60, "shards": make(chan int), "lock": struct{}{}},
			"b": map[string]any{"driver": "memory", "idle": []any{func() {}}, "tls": endless},
		},
	}, Options{Schemas: linked()})
	want := `default: names no store of this configuration; there are a, b
stores.a.lock: has the Go type struct {}, which stands for nothing in YAML
stores.a.shards: has the Go type chan int, which stands for nothing in YAML
stores.a.timeout: is a number without a unit; write 60s for seconds
stores.b.idle: wants a duration with a unit, such as 60s
stores.b.idle[0]: has the Go type func(), which stands for nothing in YAML
stores.b.tls.more: is not a key of this store's driver; there are driver, prefix, codec, compress, encrypt, timeout, default_ttl, ttl_jitter, on_error, lock, max_bytes, shards, idle, dedicated, weight, tls.cert, maxItems
stores.b.tls.more.more.more.more.more.more.more.more.more.more.more.more.more.more: is nested too deeply; 16 levels are allowed`
	if err == nil || err.Error() != want {
		t.Errorf("FromMap:\n%v\nwant:\n%s", err, want)
	}
}

func TestOptionsNarrowWhatIsAllowed(t *testing.T) {
	t.Parallel()
	path := write(t, "default: a\nstores: {a: {driver: memory, codec: mine, lock: {strategy: lease}}}\n")
	_, err := Load(t.Context(), path, Options{Environ: []string{}, Codecs: []string{"mine"}, Strategies: []string{"local"}})
	want := path + ":2: stores.a.lock.strategy: must be local"
	if err == nil || err.Error() != want {
		t.Errorf("Load = %v\nwant %s", err, want)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"driver", "prefix", "codec", "timeout", "lock", "addr", "max_bytes", "tls.cert"}
	for word, want := range map[string]string{
		"prefx": "prefix", "perfix": "prefix", "PREFIX": "prefix", "address": "addr", "max-bytes": "max_bytes", "maxbytes": "max_bytes",
		"time": "timeout", "timeuot": "timeout", "lokc": "lock", "zzz": "", "": "", "ttl": "", "tls.crt": "tls.cert", "driver": "driver",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest(%q) = %q; want %q", word, got, want)
		}
	}
	if got := nearest(strings.Repeat("x", 1<<20), known); got != "" {
		t.Errorf("nearest of a huge word = %q", got)
	}
}
