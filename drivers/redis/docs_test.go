package redis_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/sdk"
)

const page = "../../docs/redis.md"

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// With UPDATE_DOCS=1 in the environment the table is written instead of
// compared.
func TestThePageListsTheOptions(t *testing.T) {
	const begin, end = "<!-- options: written by go test ./drivers/redis with UPDATE_DOCS=1 -->\n", "<!-- end of options -->"
	text := readPage(t)
	head, rest, found := strings.Cut(text, begin)
	table, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the options", page)
	}
	want := optionTable(redis.Driver.Schema)
	if os.Getenv("UPDATE_DOCS") == "1" {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("the options in %s differ from the driver's; want\n%s", page, want)
	}
}

func optionTable(schema sdk.Schema) string {
	var b strings.Builder
	b.WriteString("| option | kind | default | meaning |\n|---|---|---|---|\n")
	for _, o := range schema {
		kind, value := string(o.Kind), o.Default
		if o.Secret {
			kind += ", secret"
		}
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", o.Name, kind, value, strings.ReplaceAll(o.Doc, "|", `\|`))
	}
	return b.String()
}

// documentedACL returns the rule of the page's example, without user and
// password.
func documentedACL(t *testing.T) []any {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ACL SETUSER app on '>PASSWORD' (.+)$`).FindStringSubmatch(readPage(t))
	if found == nil {
		t.Fatalf("%s has no ACL rule", page)
	}
	var rule []any
	for _, word := range strings.Fields(found[1]) {
		rule = append(rule, strings.Trim(word, "'"))
	}
	return rule
}
