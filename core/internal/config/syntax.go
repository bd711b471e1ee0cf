package config

import (
	"bytes"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What YAML's parser says, and what it means to whoever wrote the file.
var syntaxHints = []struct{ said, meant string }{
	{"unknown anchor", "text that starts with * refers to an anchor, and there is none of that name; put text in quotes"},
	{"found character that cannot start any token", "text that starts with @, % or ` wants quotes"},
	{"mapping values are not allowed", "a colon where none can stand: check the indentation, or put the text in quotes"},
	{"could not find expected ':'", "a key wants a colon and a blank behind it"},
	{"found unexpected end of stream", "a quote is opened and not closed"},
	{"did not find expected ',' or ']'", "a [ is opened and not closed"},
	{"did not find expected ',' or '}'", "a { is opened and not closed"},
	{"did not find expected key", "the indentation fits nothing above it"},
	{"control characters are not allowed", "holds a control character"},
}

const tabHint = "a tab; YAML is indented with blanks"

var yamlPrefix = regexp.MustCompile(`^yaml: (line \d+: )?`)

// explain gives the line and the reason of a syntax error. The parser names the
// line where the block around a mistake starts, or none, so the line is looked
// for: it is the first one without which everything above it is YAML.
func explain(err error, read *lineReader) (int, string) {
	line := read.firstBad()
	said := yamlPrefix.ReplaceAllString(err.Error(), "")
	text := string(read.lines[line-1])
	if indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]; strings.Contains(indent, "\t") {
		return line, tabHint
	}
	for _, hint := range syntaxHints {
		if strings.HasPrefix(said, hint.said) {
			return line, hint.meant
		}
	}
	return line, "is not YAML: " + said
}

// A lineReader hands out one line a call, so that it knows how far its reader
// came.
type lineReader struct {
	lines [][]byte
	next  int // the line to hand out
	rest  []byte
}

func (r *lineReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.next == len(r.lines) {
			return 0, io.EOF
		}
		r.rest = r.lines[r.next]
		r.next++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// maxReparsed bounds the bytes that firstBad parses.
const maxReparsed = 4 << 20

// firstBad is the line, from 1, that follows the longest readable beginning.
func (r *lineReader) firstBad() int {
	size := 0
	for _, line := range r.lines[:r.next] {
		size += len(line)
	}
	parsed := 0
	for n := r.next; n > 0 && parsed < maxReparsed; n-- {
		parsed += size
		if isYAML(bytes.Join(r.lines[:n], nil)) {
			return min(n+1, len(r.lines))
		}
		size -= len(r.lines[n-1])
	}
	if parsed >= maxReparsed {
		return max(1, r.next)
	}
	return 1
}

func isYAML(data []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := decoder.Decode(&n); err != nil {
			return err == io.EOF
		}
	}
}
