package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeAll writes files into one folder and returns it.
func writeAll(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const base = `default: sessions
prefix: shop
drivers:
  acme: {run: command, command: [./acme, -v]}
stores:
  sessions: {driver: redis, addr: "a:1", password: x, labels: {a: "1", b: "2"}, lock: {strategy: redlock, timeout: 1s}}
  peers: {driver: memcached, servers: [a, b]}
  reports: {driver: file, path: ./reports, spool: ./spool}
`

func TestALaterFileWinsKeyByKey(t *testing.T) {
	t.Parallel()
	folder := writeAll(t, map[string]string{
		"config.yaml": base,
		"prod/over.yaml": `
prefix: prod
stores:
  search: {driver: acme}
  sessions: {password: "${file:secret}", labels: {b: three}, timeout: 2s}
  peers: {servers: [c]}
  reports: {path: ./over}
drivers: {acme: {command: [./other]}}
`,
		"prod/secret": "hunter2\n",
		"last.yaml":   "stores: {sessions: {timeout: 3s}}\n",
	})
	over := filepath.Join(folder, "prod/over.yaml")
	c, err := Load(t.Context(), filepath.Join(folder, "config.yaml"), Options{
		Over:    []string{over, filepath.Join(folder, "last.yaml")},
		Environ: []string{"CACHEWRIGHT_STORES__SEARCH__PREFIX=env"},
		Schemas: linked(),
	})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "order", c.Order, []string{"sessions", "peers", "reports", "search"})
	equal(t, "prefix", c.Prefix, "prod")
	equal(t, "command", c.Drivers["acme"].Command, []string{filepath.Join(folder, "prod/other")})
	equal(t, "timeout", c.Stores["sessions"].Timeout, 3*time.Second)
	equal(t, "lock", c.Stores["sessions"].Lock, Lock{Strategy: "redlock", Timeout: new(time.Second)})
	equal(t, "a variable over a later file", c.Stores["search"].Prefix, "env")
	for store, want := range map[string]map[string]any{
		"sessions": {"addr": "a:1", "password": "hunter2", "labels": map[string]any{"a": "1", "b": "three"}},
		"peers":    {"servers": []any{"c"}},
		"reports":  {"path": filepath.Join(folder, "prod/over"), "spool": filepath.Join(folder, "spool")},
	} {
		options, err := c.CheckStore(store, standIns[c.Stores[store].Driver])
		if err != nil {
			t.Fatal(err)
		}
		equal(t, store, options, want)
	}
	for key, want := range map[string]string{
		"stores.sessions.addr": "config.yaml:6", "stores.sessions.labels.a": "config.yaml:6", "stores.sessions.labels.b": "prod/over.yaml:5",
		"stores.peers.servers[0]": "prod/over.yaml:6", "stores.sessions.timeout": "last.yaml:1", "default": "config.yaml:1", "prefix": "prod/over.yaml:2",
	} {
		equal(t, "origin of "+key, strings.TrimPrefix(c.Origin(key).String(), folder+"/"), want)
	}
}

func TestProblemsOfSeveralFilesNameTheFileAndTheLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		files map[string]string
		order []string
		want  string
	}{
		{
			"values are judged where they were written last, in the order of the files",
			map[string]string{
				"z.yaml": base,
				"a.yaml": "stores:\n  sessions: {timeout: 60, adr: x}\n  reports:\n    path: 5\n  peers: {servers: {x: y}}\n",
			},
			[]string{"z.yaml", "a.yaml"},
			`a.yaml:2: stores.sessions.adr: is not a key of this store's driver; did you mean addr?
a.yaml:2: stores.sessions.timeout: is a number without a unit; write 60s for seconds
a.yaml:4: stores.reports.path: wants text; put it in quotes
a.yaml:5: stores.peers.servers: wants a list of texts`,
		},
		{
			"what is wrong below and not touched above stays where it is",
			map[string]string{"z.yaml": base + "  odd: {driver: redsi}\n", "a.yaml": "defualt: x\nstores: {odd: {timeout: 1s, max: 1}}\n"},
			[]string{"z.yaml", "a.yaml"},
			`z.yaml:9: stores.odd.driver: is neither a driver of this configuration nor a built-in; did you mean redis?
a.yaml:1: defualt: is not a key here; did you mean default?`,
		},
		{
			"every file is read before giving up",
			map[string]string{"z.yaml": "default: [x\n", "a.yaml": "\tx: y\n"},
			[]string{"z.yaml", "a.yaml", "none.yaml"},
			`z.yaml:1: a [ is opened and not closed
a.yaml:1: a tab; YAML is indented with blanks
none.yaml: no such file or directory`,
		},
		{
			"a key twice in one file is one problem; in two files it is none",
			map[string]string{"z.yaml": "default: a\ndefault: b\nstores: {a: {driver: memory}}\n", "a.yaml": "default: a\n"},
			[]string{"z.yaml", "a.yaml"},
			`z.yaml:2: default: is here twice; it stands in line 1 already`,
		},
		{
			"a mapping over a value, and a value over a mapping",
			map[string]string{"z.yaml": base, "a.yaml": "prefix: {x: y}\nstores: {sessions: none}\n"},
			[]string{"z.yaml", "a.yaml"},
			"a.yaml:1: prefix: wants text, not keys with values\na.yaml:2: stores.sessions: wants keys with values below it",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			folder := writeAll(t, test.files)
			paths := make([]string, len(test.order))
			for i, name := range test.order {
				paths[i] = filepath.Join(folder, name)
			}
			_, err := Load(t.Context(), paths[0], Options{Over: paths[1:], Environ: []string{}, Schemas: linked()})
			if err == nil || strings.ReplaceAll(err.Error(), folder+"/", "") != test.want {
				t.Errorf("Load reports:\n%v\nwant:\n%s", err, test.want)
			}
			listed := "CACHEWRIGHT_CONFIG=" + strings.Join(paths, string(os.PathListSeparator))
			_, err = Load(t.Context(), "", Options{Environ: []string{listed}, Schemas: linked()})
			if err == nil || !strings.Contains(test.want, "none.yaml") && strings.ReplaceAll(err.Error(), folder+"/", "") != test.want {
				t.Errorf("by the variable Load reports:\n%v\nwant:\n%s", err, test.want)
			}
		})
	}
}

func TestAnEmptyPathInTheListIsReported(t *testing.T) {
	t.Parallel()
	folder := writeAll(t, map[string]string{"config.yaml": base})
	path := filepath.Join(folder, "config.yaml")
	_, err := Load(t.Context(), "", Options{Environ: []string{"CACHEWRIGHT_CONFIG=" + path + ":"}})
	if err == nil || err.Error() != "$CACHEWRIGHT_CONFIG: holds an empty path" {
		t.Errorf("Load = %v", err)
	}
}

func TestPoliciesAndLayers(t *testing.T) {
	t.Parallel()
	const key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
	folder := writeAll(t, map[string]string{
		"config.yaml": `default: a
stores:
  a:
    driver: memory
    codec: msgpack
    compress: {above: 4KiB}
    encrypt:
      key: new
      keys:
        new: ${file:key}
        old: ${OLD_KEY}
    default_ttl: 10m
    ttl_jitter: 12.5%
    on_error: miss
  b: {driver: memory, compress: zstd, encrypt: {keys: {only: ` + key + `}}, ttl_jitter: 0.1, on_error: fail}
  c: {driver: memory, ttl_jitter: 0}
`,
		"key": "3031323334353637383930313233343536373839303132333435363738393031\n",
	})
	c, err := Load(t.Context(), filepath.Join(folder, "config.yaml"), Options{
		Environ:      []string{"OLD_KEY=" + strings.TrimSuffix(key, "="), "CACHEWRIGHT_STORES__C__TTL_JITTER=5%", "CACHEWRIGHT_STORES__C__COMPRESS__ABOVE=0"},
		Schemas:      linked(),
		Codecs:       []string{"json", "msgpack", "raw"},
		Compressions: []string{"zstd"},
		Ciphers:      []string{DefaultCipher},
	})
	if err != nil {
		t.Fatal(err)
	}
	secret := Secret("01234567890123456789012345678901")
	a, b := c.Stores["a"], c.Stores["b"]
	equal(t, "codec", a.Codec, "msgpack")
	equal(t, "compress", a.Compress, &Compress{"zstd", 4 << 10, 64 << 20})
	equal(t, "encrypt", a.Encrypt, &Encrypt{DefaultCipher, "new", map[string]Secret{"new": secret, "old": secret}})
	equal(t, "policies", []any{a.DefaultTTL, a.TTLJitter, a.MissOnError}, []any{10 * time.Minute, 0.125, true})
	equal(t, "compress of b", b.Compress, &Compress{"zstd", 1 << 10, 64 << 20})
	equal(t, "encrypt of b", b.Encrypt, &Encrypt{DefaultCipher, "only", map[string]Secret{"only": secret}})
	equal(t, "policies of b", []any{b.DefaultTTL, b.TTLJitter, b.MissOnError}, []any{time.Duration(0), 0.1, false})
	equal(t, "jitter of c", c.Stores["c"].TTLJitter, 0.05)
	equal(t, "compress of c", c.Stores["c"].Compress, &Compress{"zstd", 0, 64 << 20})
	if len(a.Options) != 0 {
		t.Errorf("the driver gets %v", a.Options)
	}
}

func TestWhatIsNotLinkedSaysWhatToImport(t *testing.T) {
	t.Parallel()
	_, err := FromMap(map[string]any{"default": "a", "stores": map[string]any{"a": map[string]any{
		"driver": "memory", "codec": "msgpack", "compress": map[string]any{"above": 1},
		"encrypt": map[string]any{"keys": map[string]string{"a": strings.Repeat("0", 64)}},
	}}}, Options{})
	want := `stores.a.codec: msgpack is not linked into this program; import _ "github.com/cachewright/cachewright/codecs/msgpack"
stores.a.compress.algorithm: zstd is not linked into this program; import _ "github.com/cachewright/cachewright/codecs/zstd"
stores.a.encrypt.algorithm: xchacha20-poly1305 is not linked into this program; import _ "github.com/cachewright/cachewright/codecs/xchacha20poly1305"`
	if err == nil || err.Error() != want {
		t.Errorf("FromMap:\n%v\nwant:\n%s", err, want)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/codecs.md"))
	if err != nil {
		t.Fatal(err)
	}
	if _, message, _ := strings.Cut(strings.Split(want, "\n")[0], ": "); !strings.Contains(string(page), message) {
		t.Errorf("docs/codecs.md does not show %q", message)
	}
}

func TestASecretPrintsAsNothing(t *testing.T) {
	t.Parallel()
	e := Encrypt{Keys: map[string]Secret{"a": Secret("hunter2")}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		text := strings.ToLower(fmt.Sprintf(verb, e))
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e746572") || strings.Contains(text, "104 117") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
}
