package report

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cachewright/cachewright/bench/internal/floor"
)

func TestATableHasItsColumnsInLine(t *testing.T) {
	t.Parallel()
	table := Table{Head: []string{"work", "µs"}, Left: 1}
	table.Add("Get", "36.1")
	table.Add("a longer one", "7")
	const want = `| work         |   µs |
|--------------|-----:|
| Get          | 36.1 |
| a longer one |    7 |
`
	if got := table.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestNumbersShowWhatCounts(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 0.0042: "0.0042", 0.0415: "0.042", 0.5: "0.500", 1: "1.00", 9.999: "10.0", 36.12: "36.1", 99.99: "100",
		783: "783", 9994: "9994", 22_700: "22.7k", 783_000: "783k", 999_600: "1.00M", 42e6: "42.0M",
		math.Inf(1): "–",
	} {
		if got := Number(v); got != want {
			t.Errorf("%v is shown as %q, want %q", v, got, want)
		}
	}
	if got := Number(math.NaN()); got != "–" {
		t.Errorf("no number is shown as %q", got)
	}
	for v, want := range map[float64]string{512: "512 B", 2048: "2.00 KiB", 3 << 20: "3.00 MiB", 5 << 30: "5.00 GiB"} {
		if got := Bytes(v); got != want {
			t.Errorf("%v bytes are shown as %q, want %q", v, got, want)
		}
	}
}

func TestOnlyWhatIsBetweenTheMarkersIsReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	const page = "by hand\n<!-- a: begin -->\nold\n<!-- a: end -->\nmore by hand\n<!-- b: begin -->\n<!-- b: end -->\n"
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := Fill(path, "a", "\nnew\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	want := strings.Replace(page, "old", "\nnew\n", 1)
	if string(got) != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := Fill(path, "c", "new"); err == nil || !strings.Contains(err.Error(), "c: begin") {
		t.Errorf("a part that the page doesn't have: %v", err)
	}
}

func TestTheTableOfFloorsSaysWhichAreBroken(t *testing.T) {
	t.Parallel()
	text := Floors([]floor.Verdict{
		{Floor: floor.Floor{Work: "kept", Bound: 2}, Ratio: 3},
		{Floor: floor.Floor{Work: "broken", Bound: 2}, Ratio: 1},
		{Floor: floor.Floor{Work: "watched"}, Ratio: 1},
	})
	lines := strings.Split(text, "\n")[2:]
	for i, want := range []string{"yes", "**no**", "none"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("%q does not say %q", lines[i], want)
		}
	}
	if strings.Contains(lines[0], "no") {
		t.Errorf("%q says no", lines[0])
	}
}

func TestThisMachineIsDescribed(t *testing.T) {
	t.Parallel()
	m := ThisMachine()
	if m.CPU == "" || m.Cores == 0 || !strings.HasPrefix(m.Go, "go") || m != ThisMachine() {
		t.Errorf("got %+v", m)
	}
}
