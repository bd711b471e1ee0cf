package core_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cache "github.com/cachewright/cachewright/core"
)

func TestWhatOnlyADriverKnowsToBeWrongIsFoundInTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := "default: files\nstores:\n  files:\n    driver: file\n    path: ./there\n    dir_mode: rwx\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := cache.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.WithoutCancel(t.Context()))
	err = m.Set(t.Context(), "k", 1, cache.Forever)
	if !errors.Is(err, cache.ErrInvalidConfig) || !strings.Contains(err.Error(), path+":6: stores.files.dir_mode: ") {
		t.Errorf("a mode that the driver refuses: %v", err)
	}
}
