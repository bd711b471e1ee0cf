package config

import (
	"errors"
	"os"
	"path/filepath"
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
		if p.Reason == "" || p.Variable == "" && p.File != path {
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
