// Package docs holds the documentation; its tests hold the documentation to
// what the program does.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	cache "github.com/cachewright/cachewright/core"
	_ "github.com/cachewright/cachewright/drivers/builtin"
	"github.com/cachewright/cachewright/internal/builtin"
	"github.com/cachewright/cachewright/sdk"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// blocks returns the fenced blocks of a language.
func blocks(markdown, language string) []string {
	var found []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(markdown, -1) {
		found = append(found, m[1])
	}
	return found
}

func TestTheReadmesQuickStartIsTheExample(t *testing.T) {
	example := read(t, "../examples/quickstart/main.go")
	_, program, _ := strings.Cut(example, "package main\n")
	got := blocks(read(t, "../README.md"), "go")
	if len(got) != 1 || got[0] != "package main\n"+program {
		t.Error("README.md's program is not examples/quickstart/main.go")
	}
}

func TestTheReadmesConfigurationOpens(t *testing.T) {
	for _, block := range blocks(read(t, "../README.md"), "yaml") {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := cache.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Warm(t.Context()); err != nil {
			t.Error(err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestLinksLeadSomewhere(t *testing.T) {
	fenced := regexp.MustCompile("(?ms)^```.*?^```$")
	link := regexp.MustCompile(`\]\(([^):#]+)[^):]*\)`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, path), ""), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Paths that the documentation names in code exist.
func TestNamedPathsExist(t *testing.T) {
	named := regexp.MustCompile("`((?:core|sdk|internal|drivers|examples|docs|cmd)/[A-Za-z0-9_./-]*)`")
	for _, path := range []string{"../README.md", "architecture.md", "writing-a-driver.md"} {
		for _, m := range named.FindAllStringSubmatch(read(t, path), -1) {
			if strings.Contains(m[1], "*") {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s names %s, which is not there", path, m[1])
			}
		}
	}
}

// The options table of a driver's page is its schema.
func TestOptionsTablesAreTheSchemas(t *testing.T) {
	for _, name := range builtin.Names() {
		d, _ := builtin.Lookup(name)
		if table := optionsTable(d.Schema); !strings.Contains(read(t, name+".md"), table) {
			t.Errorf("docs/%s.md lacks this table:\n%s", name, table)
		}
	}
}

func optionsTable(schema sdk.Schema) string {
	var b strings.Builder
	b.WriteString("| option | kind | default | meaning |\n|---|---|---|---|\n")
	for _, o := range schema {
		def := "required"
		if !o.Required {
			def = ""
			if o.Default != "" {
				def = "`" + o.Default + "`"
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", o.Name, o.Kind, def, strings.ReplaceAll(o.Doc, "|", "\\|"))
	}
	return b.String()
}
