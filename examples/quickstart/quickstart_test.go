package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	cache "github.com/cachewright/cachewright/core"
)

// The program has no server to ask: it runs in a folder of its own, and prints
// what it has built, or what is there already.
func TestTheProgramBuildsAReportAndRemembersIt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program := filepath.Join(folder, "quickstart")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config := filepath.Join(folder, "config.yaml")
	text := "default: file\nprefix: app\nstores:\n  file: {driver: file, path: ./storage/cache}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func() string {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Dir = folder
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	built := run()
	caches, err := cache.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer caches.Close(context.WithoutCancel(t.Context()))
	reports := cache.Of[string](caches)
	stored, _, err := reports.Get(t.Context(), "report")
	if stored != built || !strings.HasPrefix(built, "built at ") || err != nil {
		t.Errorf("it printed %q and stored %q, %v", built, stored, err)
	}
	if err := reports.Set(t.Context(), "report", "built before", time.Minute); err != nil {
		t.Fatal(err)
	}
	if again := run(); again != "built before" {
		t.Errorf("it printed %q, and the report was there", again)
	}
}
