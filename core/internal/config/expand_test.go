package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExpansion(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"secret":   "s3cret\n",
		"windows":  "s3cret\r\n",
		"inner":    "a\nb\n\n",
		"dollars":  "$$${A}${file:secret}",
		"a b}.txt": "never",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"A=one", "B_2=two", "EMPTY=", "TRICKY=${A} $$ *x: {y", "YES=true", "COMMA=a:1, b:2"}
	for _, test := range []struct{ name, text, want string }{
		{"nothing to do", "plain", "plain"},
		{"a variable", "${A}", "one"},
		{"several, with text around", "<${A}-${B_2}>", "<one-two>"},
		{"a dollar", "a$$b", "a$b"},
		{"a dollar before a reference", "$$${A}", "$one"},
		{"a dollar that hides a reference", "$${A}", "${A}"},
		{"set and empty", "[${EMPTY}]", "[]"},
		{"a default that isn't needed", "${A:-x}", "one"},
		{"a default for an unset one", "${NONE:-x}", "x"},
		{"a default for an empty one", "${EMPTY:-x}", "x"},
		{"an empty default", "[${NONE:-}]", "[]"},
		{"a default with a colon, a dash and blanks", "${NONE:-a:-b c}", "a:-b c"},
		{"a result is not expanded again", "${TRICKY}", "${A} $$ *x: {y"},
		{"a file", "${file:secret}", "s3cret"},
		{"a file with a foreign line end", "${file:windows}", "s3cret"},
		{"a file of several lines", "${file:inner}", "a\nb"},
		{"a file by its absolute path", "${file:" + folder + "/secret}", "s3cret"},
		{"a file's text is not expanded", "${file:dollars}", "$$${A}${file:secret}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(folder, strings.ReplaceAll(test.name, " ", "-")+".yaml")
			text := "default: a\nstores: {a: {driver: redis, addr: '" + test.text + "'}}\n"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := Load(t.Context(), path, Options{Environ: environ, Schemas: linked()})
			if err != nil {
				t.Fatalf("Load: %v", err)
			}
			equal(t, "addr", c.Stores["a"].Options["addr"], test.want)
		})
	}
}

func TestExpansionReachesEveryText(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
default: ${STORE}
prefix: ${PREFIX}
drivers: {acme: {run: command, command: ["/bin/${A}", "${A}"], env: {X: "${A}"}, start_timeout: "${SECONDS}s"}}
stores:
  one: {driver: "${DRIVER}", servers: ["${A}:1", b], lock: {timeout: "${SECONDS}s"}}
  two: {driver: memcached, servers: "${LIST}"}
`, "STORE=one", "PREFIX=p", "A=a", "SECONDS=7", "DRIVER=memcached", "LIST=x:1, y:2")
	equal(t, "default", c.Default, "one")
	equal(t, "prefix", c.Stores["one"].Prefix, "p")
	equal(t, "command", c.Drivers["acme"].Command, []string{"/bin/a", "a"})
	equal(t, "env", c.Drivers["acme"].Env, map[string]string{"X": "a"})
	equal(t, "start_timeout", c.Drivers["acme"].StartTimeout.String(), "7s")
	equal(t, "timeout", c.Stores["one"].Lock.Timeout.String(), "7s")
	equal(t, "one", c.Stores["one"].Options["servers"], []any{"a:1", "b"})
	equal(t, "two", c.Stores["two"].Options["servers"], "x:1, y:2")
}

func TestAReplacedValueIsNotExpanded(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
default: a
stores: {a: {driver: memcached, servers: ["${UNSET}", "${UNSET}"]}}
`, "CACHEWRIGHT_STORES__A__SERVERS=x:1")
	equal(t, "servers", c.Stores["a"].Options["servers"], "x:1")
}

func TestAWellKnownAddressIsNotExpanded(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, `
default: memcached
stores: {memcached: {driver: memcached, servers: ["${OLD}:1"]}}
`, "OLD=old", "MEMCACHED_HOST=${OLD}")
	equal(t, "servers", c.Stores["memcached"].Options["servers"], []any{"${OLD}:1"})
}

func TestKeysAreNotExpanded(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "default: a\nstores: {a: {driver: redis, labels: {'${A}': x}}}\n", "A=one")
	equal(t, "labels", c.Stores["a"].Options["labels"], map[string]any{"${A}": "x"})
}

func TestATextFileThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	big, binary := filepath.Join(folder, "big"), filepath.Join(folder, "binary")
	if err := errors.Join(
		os.WriteFile(big, make([]byte, maxText+1), 0o600),
		os.WriteFile(binary, []byte{0xff, 0xfe, 0x80}, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, path, reason string }{
		{"missing", "/nowhere/at/all", "no such file or directory"},
		{"a folder", folder, "is a directory, not a file"},
		{"too large", big, "is larger than 65536 bytes"},
		{"no text", binary, "which is not valid UTF-8"},
		{"a device", os.DevNull, "is not a regular file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, "default: a\nstores: {a: {driver: redis, password: '${file:"+test.path+"}'}}\n")
			if err == nil || !strings.Contains(err.Error(), "config.yaml:2: stores.a.password: wants the file "+test.path) || !strings.HasSuffix(err.Error(), test.reason) {
				t.Errorf("Load = %v; want %s, named with its place", err, test.reason)
			}
			if got := errors.Is(err, fs.ErrNotExist); got != (test.name == "missing") {
				t.Errorf("%v matches ErrNotExist: %t", err, got)
			}
		})
	}
}
