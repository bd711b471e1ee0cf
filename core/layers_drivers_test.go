package core_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// Keys rotate as docs/codecs.md tells it, over a file store: no step leaves a
// value that somebody can't open.
func TestKeysRotateFromConfigurationToConfiguration(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const common = "default: main\nprefix: app\nstores:\n  main:\n    driver: file\n    path: ./data\n    compress: {above: 64}\n    encrypt:\n"
	old, fresh := "        old: "+keyA+"\n", "        new: "+keyB+"\n"
	writeFile(t, folder, "1-old.yaml", common+"      keys:\n"+old)
	writeFile(t, folder, "2-both.yaml", common+"      key: old\n      keys:\n"+old+fresh)
	writeFile(t, folder, "3-switched.yaml", common+"      key: new\n      keys:\n"+old+fresh)
	writeFile(t, folder, "4-new.yaml", common+"      keys:\n"+fresh)
	steps := []string{"1-old.yaml", "2-both.yaml", "3-switched.yaml", "4-new.yaml"}
	opened := make([]*cache.CacheManager, len(steps))
	for i, name := range steps {
		m, err := cache.Open(t.Context(), filepath.Join(folder, name))
		must(t, err)
		defer m.Close(context.WithoutCancel(t.Context()))
		opened[i] = m
	}
	secret := strings.Repeat("hunter2 ", 100)
	for i, m := range opened { // this one writes, and its neighbours read
		must(t, m.Set(t.Context(), "k", secret, time.Hour))
		for j := max(0, i-1); j <= min(len(opened)-1, i+1); j++ {
			if got, ok, err := cache.Of[string](opened[j]).Get(t.Context(), "k"); got != secret || !ok || err != nil {
				t.Errorf("%s can't read what %s wrote: %t, %v", steps[j], steps[i], ok, err)
			}
		}
	}
	last := opened[len(opened)-1]
	must(t, opened[0].Set(t.Context(), "k", secret, time.Hour))
	if _, err := last.Get(t.Context(), "k"); !errors.Is(err, cache.ErrCorrupt) || !strings.Contains(err.Error(), `key "old"`) {
		t.Errorf("a value of a key that is gone: %v", err)
	}
	if v, err := last.Remember(t.Context(), "k", time.Hour, constant("anew")); err != nil || string(v.Bytes()) != `"anew"` {
		t.Errorf("Remember: %s, %v", v.Bytes(), err)
	}
	for want, m := range opened { // counters belong to all
		if n, err := m.Increment(t.Context(), "n", 1); n != int64(want+1) || err != nil {
			t.Errorf("%s: Increment = %d, %v", steps[want], n, err)
		}
	}
	must(t, last.Set(t.Context(), "secret", secret, time.Hour))
	mustNotContain(t, filepath.Join(folder, "data"), "hunter2")
}

func writeFile(t *testing.T, folder, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
}

func mustNotContain(t *testing.T, folder, text string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("%s holds %q", path, text)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestAFileIsLaidOverAnother(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeFile(t, folder, "base.yaml", "default: main\nstores: {main: {driver: memory, max_bytes: 1MiB}}\n")
	writeFile(t, folder, "over.yaml", "stores: {main: {prefix: over}, more: {driver: memory}}\n")
	writeFile(t, folder, "wrong.yaml", "stores: {main: {prefix: 'a b'}}\n")
	base, over, wrong := filepath.Join(folder, "base.yaml"), filepath.Join(folder, "over.yaml"), filepath.Join(folder, "wrong.yaml")
	m, err := cache.Open(t.Context(), base, cache.WithFile(over))
	must(t, err)
	if stores := m.Stores(); len(stores) != 2 || stores[0].Prefix != "over" || stores[1].Name != "more" {
		t.Errorf("stores %+v", stores)
	}
	must(t, m.Close(t.Context()))
	_, err = cache.Open(t.Context(), base, cache.WithFile(over), cache.WithFile(wrong))
	if !errors.Is(err, cache.ErrInvalidConfig) || !strings.HasPrefix(err.Error(), wrong+":1: stores.main.prefix: ") {
		t.Errorf("Open: %v", err)
	}
	_, err = cache.OpenConfig(t.Context(), cache.Config{Default: "a", Stores: map[string]cache.StoreConfig{"a": {Driver: "memory"}}}, cache.WithFile(over))
	if !errors.Is(err, cache.ErrInvalidConfig) {
		t.Errorf("OpenConfig with a file: %v", err)
	}
}

// CACHEWRIGHT_CONFIG is the process's own: not parallel.
func TestTheVariableListsFiles(t *testing.T) {
	folder := t.TempDir()
	writeFile(t, folder, "base.yaml", "default: main\nstores: {main: {driver: memory}}\n")
	writeFile(t, folder, "over.yaml", "stores: {main: {prefix: over}}\n")
	t.Setenv("CACHEWRIGHT_CONFIG", filepath.Join(folder, "base.yaml")+string(os.PathListSeparator)+filepath.Join(folder, "over.yaml"))
	m, err := cache.Open(t.Context(), "")
	must(t, err)
	if prefix := m.Stores()[0].Prefix; prefix != "over" {
		t.Errorf("prefix %q", prefix)
	}
	must(t, m.Close(t.Context()))
}
