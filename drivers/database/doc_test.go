package database

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTheDocumentedOptionsAreTheSchema(t *testing.T) {
	t.Parallel()
	page := page(t)
	var want strings.Builder
	want.WriteString("| option | kind | default | meaning |\n|---|---|---|---|\n")
	for _, o := range Driver.Schema {
		preset := ""
		switch {
		case o.Required:
			preset = "required"
		case o.Default != "":
			preset = "`" + o.Default + "`"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", o.Name, o.Kind, preset, o.Doc)
	}
	if !strings.Contains(page, want.String()) {
		t.Errorf("docs/database.md lacks this table:\n%s", want.String())
	}
}

func TestTheDocumentedTablesAreThoseThatAreCreated(t *testing.T) {
	t.Parallel()
	page := page(t)
	for name, kind := range map[string]tableKind{"cache": entriesKind, "cache_locks": locksKind} {
		for _, statement := range kind.create {
			want := strings.NewReplacer("{persistence} ", "", "{name}", name).Replace(statement) + ";"
			if !strings.Contains(page, want) {
				t.Errorf("docs/database.md lacks this statement:\n%s", want)
			}
		}
	}
}

func page(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/database.md")
	must(t, err)
	return string(page)
}
