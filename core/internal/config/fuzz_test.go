package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cachewright/cachewright/internal/wire"
)

// Whatever stands in the file and in a variable, Load returns soon, with a valid
// Config or with problems that have a place.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "CACHEWRIGHT_STORES__A__LOCK__TIMEOUT", "5s")
	}
	f.Add([]byte(threeLayers), "CACHEWRIGHT_STORES__MY__SHOP___SHARDS", "7")
	f.Add([]byte("default: a\nstores: {a: &x {driver: redis, <<: *x, labels: {<<: [*x, *x]}}}"), "REDIS_PORT", "1")
	f.Add([]byte("? {a: b}\n: c\n\"\\0.\": ${A:-}\n"), "CACHEWRIGHT_DRIVERS__A.B__ENV", "x")
	path := filepath.Join(f.TempDir(), "config.yaml")
	f.Fuzz(func(t *testing.T, data []byte, variable, value string) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		c, err := Load(t.Context(), path, Options{Environ: []string{variable + "=" + value}, Schemas: linked(), Platform: "linux/amd64"})
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("Load took %v", took)
		}
		if err != nil {
			checkProblems(t, path, err)
			return
		}
		checkConfig(t, c)
	})
}

// Two files are as good as one: no problem lacks a place, a file over itself
// changes nothing, and neither does one that says nothing.
func FuzzOver(f *testing.F) {
	f.Add([]byte(base), []byte("stores: {sessions: {labels: {b: 3}}, peers: {servers: {}}}"))
	f.Add([]byte(base), []byte("stores: {sessions: [], reports: , x.y: {driver: file}}\ndrivers: none"))
	f.Add([]byte(threeLayers), []byte("stores: {a: &x {driver: redis, <<: *x}}"))
	folder := f.TempDir()
	paths := []string{filepath.Join(folder, "a.yaml"), filepath.Join(folder, "b.yaml")}
	f.Fuzz(func(t *testing.T, below, above []byte) {
		load := func(below, above []byte) (*Config, error) {
			for i, data := range [][]byte{below, above} {
				if err := os.WriteFile(paths[i], data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return Load(t.Context(), paths[0], Options{Over: paths[1:], Environ: []string{}, Schemas: linked(), Platform: "linux/amd64"})
		}
		if c, err := load(below, above); err == nil {
			checkConfig(t, c)
		} else {
			checkProblems(t, folder, err)
		}
		alone, err := load(below, []byte("{}"))
		twice, err2 := load(below, below)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("alone: %v; over itself: %v", err, err2)
		}
		if err == nil && !reflect.DeepEqual(withoutPlaces(alone), withoutPlaces(twice)) {
			t.Errorf("alone: %+v\nover itself: %+v", alone, twice)
		}
	})
}

// withoutPlaces is what a Config says, less where it was said.
func withoutPlaces(c *Config) any {
	for name, s := range c.Stores {
		s.Pos = Position{}
		c.Stores[name] = s
	}
	for name, d := range c.Drivers {
		d.Pos = Position{}
		c.Drivers[name] = d
	}
	return []any{c.Default, c.Prefix, c.Drivers, c.Stores, c.Order}
}

func checkProblems(t *testing.T, path string, err error) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Problems) == 0 || !errors.Is(err, wire.ErrInvalidConfig) {
		t.Fatalf("Load = %T %v; want an *Error with problems", err, err)
	}
	for i, p := range e.Problems {
		if i == maxProblems { // how many more there are
			break
		}
		if p.Reason == "" || p.Variable == "" && !strings.HasPrefix(p.File, path) {
			t.Errorf("problem %+v has no reason or no place", p)
		}
		if text := p.String(); !utf8.ValidString(text) || len(text) > 8<<10 {
			t.Errorf("problem %.100q… has %d bytes or is not text", text, len(text))
		}
	}
}

func checkConfig(t *testing.T, c *Config) {
	t.Helper()
	if _, ok := c.Stores[c.Default]; !ok || len(c.Order) != len(c.Stores) {
		t.Errorf("default %q, order %q, stores %v", c.Default, c.Order, c.Stores)
	}
	for name, s := range c.Stores {
		if !namePattern.MatchString(name) || !prefixPattern.MatchString(s.Prefix) || s.Timeout <= 0 || s.Pos.Line == 0 {
			t.Errorf("store %q: %+v", name, s)
		}
		if _, err := c.CheckStore(name, standIns[s.Driver]); err != nil && c.Drivers[s.Driver].Run != RunCommand {
			t.Errorf("store %q passed Load and not CheckStore: %v", name, err)
		}
	}
}
