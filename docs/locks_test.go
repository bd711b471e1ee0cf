package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A statement is a row of the table in locks.md.
type statement struct{ text, tests, difference string }

func statements(t *testing.T) map[string]statement {
	t.Helper()
	found := make(map[string]statement)
	row := regexp.MustCompile(`(?m)^\| (S\d+) \|([^|\n]*)\|([^|\n]*)\|([^|\n]*)\|$`)
	for _, cells := range row.FindAllStringSubmatch(read(t, "locks.md"), -1) {
		if _, twice := found[cells[1]]; twice {
			t.Errorf("locks.md has %s twice", cells[1])
		}
		found[cells[1]] = statement{strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3]), strings.TrimSpace(cells[4])}
	}
	return found
}

func TestEveryStatementOnLocksHasATestOrADifference(t *testing.T) {
	found := statements(t)
	name := regexp.MustCompile("`([a-z/-]+)\\.(Test\\w+)`")
	for i := range 100 {
		number := fmt.Sprintf("S%d", i+1)
		s, ok := found[number]
		if !ok || s.text == "" {
			t.Errorf("locks.md has no statement %s", number)
			continue
		}
		tests := name.FindAllStringSubmatch(s.tests, -1)
		if len(tests) == 0 && s.difference == "" {
			t.Errorf("%s has neither a test nor a difference", number)
		}
		if rest := strings.Trim(name.ReplaceAllString(s.tests, ""), ", "); rest != "" {
			t.Errorf("%s: %q is no test", number, rest)
		}
		for _, test := range tests {
			if !hasTest(t, test[1], test[2]) {
				t.Errorf("%s: %s has no func %s", number, test[1], test[2])
			}
		}
	}
	if len(found) != 100 {
		t.Errorf("locks.md has %d statements, want 100", len(found))
	}
}

// hasTest looks into the test files of a package.
func hasTest(t *testing.T, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

func TestS75ThePageWarnsOfWhatNoLockProtects(t *testing.T) {
	page := read(t, "locks.md")
	for _, warning := range []string{
		"| protect a payment, a unique name, a balance | none | none | a constraint and a transaction",
		"It spares duplicate\nwork. It excludes nobody for sure",
		"It does not make a block a transaction.",
	} {
		if !strings.Contains(page, warning) {
			t.Errorf("locks.md does not say %q any more", warning)
		}
	}
}
