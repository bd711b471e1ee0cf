package redis_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/drivers/redis"
)

func readPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestThePageListsTheOptions(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| option | kind | default | meaning |\n|---|---|---|---|\n")
	for _, o := range redis.Driver.Schema {
		value := o.Default
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", o.Name, o.Kind, value, strings.ReplaceAll(o.Doc, "|", `\|`))
	}
	if !strings.Contains(readPage(t), table.String()) {
		t.Errorf("docs/redis.md lacks this table:\n%s", table.String())
	}
}

// documentedACL returns the rule of the page's example, without user and
// password.
func documentedACL(t *testing.T) []any {
	t.Helper()
	found := regexp.MustCompile(`(?m)^ACL SETUSER app on '>PASSWORD' (.+)$`).FindStringSubmatch(readPage(t))
	if found == nil {
		t.Fatal("docs/redis.md has no ACL rule")
	}
	var rule []any
	for _, word := range strings.Fields(found[1]) {
		rule = append(rule, strings.Trim(word, "'"))
	}
	return rule
}
