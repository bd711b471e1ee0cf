package memcached

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/sdk"
)

func readPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/memcached.md")
	must(t, err)
	return string(page)
}

func TestThePageListsTheOptions(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	want.WriteString("| option | kind | default | meaning |\n|---|---|---|---|\n")
	for _, o := range Driver.Schema {
		preset := ""
		if o.Default != "" {
			preset = "`" + o.Default + "`"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", o.Name, o.Kind, preset, strings.ReplaceAll(o.Doc, "|", `\|`))
	}
	if !strings.Contains(readPage(t), want.String()) {
		t.Errorf("docs/memcached.md lacks this table:\n%s", want.String())
	}
}

// The page's account of names and items is what the driver does.
func TestThePageDescribesNamesAndItems(t *testing.T) {
	t.Parallel()
	page := readPage(t)
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|$").FindAllStringSubmatch(page, -1) {
		key, err := strconv.Unquote(`"` + row[1] + `"`)
		must(t, err)
		if got := valueName(key); got != row[2] {
			t.Errorf("the page says that %q is named %s; it is %s", key, row[2], got)
		}
	}
	lock := leaseName(sdk.LeaseRequest{Strategy: sdk.StrategyExclusive, Key: "jobs"})
	for _, want := range []string{
		fmt.Sprintf("| 0 | 4 | `% X` |", magic), fmt.Sprintf("| 4 | 1 | version of the format, %d |", formatVersion),
		fmt.Sprintf("| %d | k | the key |", beforeKey), "`" + lock + "`",
		fmt.Sprintf("%d bytes more", itemOverhead),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
