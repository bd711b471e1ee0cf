package file

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTheDocumentedOptionsAreTheSchema(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/file.md")
	must(t, err)
	var want strings.Builder
	want.WriteString("| option | kind | default | meaning |\n|---|---|---|---|\n")
	for _, o := range Driver.Schema {
		preset := "`" + o.Default + "`"
		if o.Required {
			preset = "required"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", o.Name, o.Kind, preset, o.Doc)
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/file.md lacks this table:\n%s", want.String())
	}
}
