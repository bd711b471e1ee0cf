// Package report writes what was measured, for people: tables, numbers, the
// machine, and the parts of a document that are generated.
package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// A Table is Markdown that can be read as it is.
type Table struct {
	Head []string
	Rows [][]string
	Left int // so many columns are text; the others are numbers, to the right
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// String is the table with its columns in line.
func (t Table) String() string {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	t.line(&b, widths, t.Head)
	for i, width := range widths {
		b.WriteString("|" + strings.Repeat("-", width+1) + rule(i < t.Left))
	}
	b.WriteString("|\n")
	for _, row := range t.Rows {
		t.line(&b, widths, row)
	}
	return b.String()
}

func rule(left bool) string {
	if left {
		return "-"
	}
	return ":"
}

func (t Table) line(b *strings.Builder, widths []int, row []string) {
	for i, cell := range row {
		gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i < t.Left {
			b.WriteString("| " + cell + gap + " ")
		} else {
			b.WriteString("| " + gap + cell + " ")
		}
	}
	b.WriteString("|\n")
}

// Number shows three digits that count: 0.0415, 36.1, 783k, 1.02M.
func Number(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v >= 999_500:
		return digits(v/1e6) + "M"
	case v >= 9_995:
		return digits(v/1e3) + "k"
	}
	return digits(v)
}

func digits(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.009995:
		return fmt.Sprintf("%.4f", v)
	case v < 0.9995:
		return fmt.Sprintf("%.3f", v)
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Share shows a share as a percentage.
func Share(v float64) string { return fmt.Sprintf("%.0f %%", v*100) }

// Bytes shows an amount of memory.
func Bytes(v float64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if math.Abs(v) < 1024 {
			return digits(v) + " " + unit
		}
		v /= 1024
	}
	return digits(v) + " GiB"
}
