package config

import (
	"strings"
	"testing"
	"time"
)

// The worst that a file within its bound can hold is over in moments.
func TestNoFileCostsMuch(t *testing.T) {
	t.Parallel()
	fill := func(head, unit, tail string) string {
		return head + strings.Repeat(unit, (maxFile-len(head)-len(tail))/len(unit)) + tail
	}
	for name, text := range map[string]string{
		"brackets":                   fill("a: ", "[", ""),
		"braces":                     fill("", "{a: ", ""),
		"nested blocks":              fill("", "- ", ""),
		"an open quote at the top":   fill("a: \"\n", "b: c\n", ""),
		"an open brace at the top":   fill("a: {\n", "b: c\n", ""),
		"a mistake at the end":       fill("a: b\n", "# b: c\n", "\tx: y"),
		"keys":                       fill("", "a: b\n", ""),
		"a wide list":                fill("a: [", "x,", "]"),
		"one long key":               fill("", "k", ": v\n"),
		"one long text":              fill("default: ", "$", ""),
		"many references":            fill("default: \"", "${A:-b}", "\""),
		"many anchors":               fill("", "- &a x\n", ""),
		"many documents":             fill("", "---\n", ""),
		"merges":                     fill("a: &a {x: y}\nb: {", "<<: *a, ", "}"),
		"merges of a list of merges": fill("a: &a {<<: [", "{x: y}, ", "]}"),
		"comments":                   fill("", "#\n", ""),
		"indented lines":             fill("a:\n", "  ? b\n", ":"),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if _, err := load(t, text); err == nil {
				t.Error("Load takes it")
			} else if len(err.Error()) > 1<<20 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			took := time.Since(start)
			t.Log(took)
			if took > 30*time.Second {
				t.Errorf("Load took %v", took)
			}
		})
	}
}
