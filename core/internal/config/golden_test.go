package config

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s = %+v\nwant %+v", what, got, want)
	}
}

// Each testdata/bad/NAME.yaml has its exact problems in NAME.golden, and may
// have an environment in NAME.env.
func TestProblemsAreReportedAllAtOnce(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			_, err := Load(t.Context(), file, Options{
				Environ:  environFile(t, strings.Replace(file, ".yaml", ".env", 1)),
				Schemas:  linked(),
				Platform: "linux/amd64",

				Compressions: []string{"zstd"},
				Ciphers:      []string{"xchacha20-poly1305"},
			})
			if !errors.Is(err, wire.ErrInvalidConfig) {
				t.Fatalf("Load = %v; want an error that matches ErrInvalidConfig", err)
			}
			got := strings.ReplaceAll(err.Error(), "testdata/bad/", "") + "\n"
			if strings.Contains(got, "hunter2") {
				t.Errorf("a value is quoted:\n%s", got)
			}
			golden(t, strings.Replace(file, ".yaml", ".golden", 1), got)
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func environFile(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return []string{}
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}
