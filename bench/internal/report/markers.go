package report

import (
	"fmt"
	"os"
	"strings"
)

// Fill replaces what stands between the markers of a part of the document.
func Fill(path, part, content string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	filled, err := fill(string(text), part, content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(filled), 0o644)
}

func fill(text, part, content string) (string, error) {
	begin, end := "<!-- "+part+": begin -->\n", "<!-- "+part+": end -->\n"
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("has no lines %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + "\n" + strings.TrimSpace(content) + "\n\n" + end + after, nil
}
