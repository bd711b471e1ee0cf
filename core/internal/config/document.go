package config

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Bounds of a document, so that no file costs more than a moment.
const (
	maxFile  = 1 << 20
	maxNodes = 10_000 // aliases counted as often as they are used
	maxDepth = 16
	maxKey   = 128
)

// A document is what a YAML file says: plain values, and beside them the line
// of each.
type document struct {
	layer
	stores []string // in the order of the file
}

// parse reads the one YAML document in data. It is false where nothing could be
// read; what is wrong inside a readable document goes to the report alone.
func parse(file string, data []byte, r *report) (document, bool) {
	d := document{layer: layer{origins: origins{"": {File: file, Line: 1}}}}
	root, ok := parseNode(file, data, r)
	if !ok {
		return d, false
	}
	w := walker{file: file, report: r, document: &d}
	values, ok := w.value("", root, 0).(map[string]any)
	if !ok {
		r.at(Position{File: file, Line: root.Line}, "", "wants keys with values, such as default: file")
		return d, false
	}
	d.values = values
	return d, !w.full
}

func parseNode(file string, data []byte, r *report) (*yaml.Node, bool) {
	fail := func(line int, reason string) (*yaml.Node, bool) {
		r.at(Position{File: file, Line: line}, "", "%s", reason)
		return nil, false
	}
	if reason := misencoded(data); reason != "" {
		return fail(1, reason)
	}
	if !utf8.Valid(data) {
		return fail(invalidLine(data), "is not valid UTF-8")
	}
	counted := &lineReader{lines: bytes.SplitAfter(data, []byte("\n"))}
	decoder := yaml.NewDecoder(counted)
	var doc, next yaml.Node
	err := decoder.Decode(&doc)
	if err == io.EOF || err == nil && isNull(doc.Content[0]) {
		return fail(0, "is empty; a configuration needs default and stores")
	}
	if err != nil {
		return fail(explain(err, counted))
	}
	switch err := decoder.Decode(&next); {
	case err == nil:
		return fail(next.Line, "starts a second document; a configuration is one")
	case err != io.EOF:
		return fail(explain(err, counted))
	}
	return doc.Content[0], true
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func misencoded(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return "starts with a byte order mark; save the file as UTF-8 without one"
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "is UTF-16; save the file as UTF-8"
	}
	return ""
}

func invalidLine(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return 1 + bytes.Count(data[:i], []byte("\n"))
		}
		i += size
	}
	return 0
}

// A walker turns nodes into values and notes where they stand.
type walker struct {
	*report
	*document
	file  string
	nodes int
	full  bool // too many nodes, and reported
}

func (w *walker) value(path string, n *yaml.Node, depth int) any {
	if !w.admit(path, n, depth) {
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.value(path, n.Alias, depth+1)
	case yaml.MappingNode:
		return w.mapping(path, n, depth)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			at := fmt.Sprintf("%s[%d]", path, i)
			w.document.origins[at] = w.position(item)
			list[i] = w.value(at, item, depth+1)
		}
		return list
	}
	return w.scalar(path, n)
}

// admit keeps within bounds; it is what ends an alias that holds itself.
func (w *walker) admit(path string, n *yaml.Node, depth int) bool {
	w.nodes++
	if w.nodes > maxNodes && !w.full {
		w.full = true
		w.at(w.position(n), "", "holds too many values; %d are allowed, aliases counted as often as they are used", maxNodes)
	}
	if depth > maxDepth && !w.full {
		w.at(w.position(n), path, "is nested too deeply; %d levels are allowed", maxDepth)
	}
	return !w.full && depth <= maxDepth
}

func (w *walker) mapping(path string, n *yaml.Node, depth int) any {
	values := make(map[string]any, len(n.Content)/2)
	for _, p := range w.pairs(path, n, depth) {
		key := p.key.Value
		at := join(path, key)
		if _, taken := values[key]; taken {
			if !p.merged {
				w.at(w.position(p.key), at, "is here twice; it stands in line %d already", w.document.origins[at].Line)
			}
			continue
		}
		w.document.origins[at] = w.position(p.key)
		values[key] = w.value(at, p.value, depth+1)
		if path == "stores" {
			w.document.stores = append(w.document.stores, key)
		}
	}
	return values
}

// A pair is one entry of a mapping, its own or one that << brought in.
type pair struct {
	key, value *yaml.Node
	merged     bool
}

// pairs lists a mapping's own entries and then those of its merges, so that the
// first of a name is the one that counts.
func (w *walker) pairs(path string, n *yaml.Node, depth int) []pair {
	var own, merged []pair
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.ShortTag() == "!!merge":
			merged = append(merged, w.merge(path, value, depth+1)...)
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			w.at(w.position(key), path, "holds a key that is no text; put it in quotes")
		case key.Value == "" || len(key.Value) > maxKey:
			w.at(w.position(key), path, "holds a key that is empty or longer than %d bytes", maxKey)
		default:
			own = append(own, pair{key: key, value: value})
		}
	}
	return append(own, merged...)
}

func (w *walker) merge(path string, n *yaml.Node, depth int) []pair {
	if !w.admit(path, n, depth) {
		return nil
	}
	var merged []pair
	switch n.Kind {
	case yaml.AliasNode:
		return w.merge(path, n.Alias, depth+1)
	case yaml.SequenceNode:
		for _, source := range n.Content {
			merged = append(merged, w.merge(path, source, depth+1)...)
		}
	case yaml.MappingNode:
		for _, p := range w.pairs(path, n, depth) {
			w.nodes++
			merged = append(merged, pair{p.key, p.value, true})
		}
	default:
		w.at(w.position(n), path, "<< wants an alias of a mapping")
	}
	return merged
}

func (w *walker) scalar(path string, n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!str", "!!timestamp": // a date is text here
		return n.Value
	case "!!int", "!!float", "!!bool", "!!null", "!!binary":
		var v any
		if err := n.Decode(&v); err != nil {
			w.at(w.position(n), path, "does not fit its tag")
		}
		return v
	}
	w.at(w.position(n), path, "starts with !, which makes a tag of it; put text in quotes")
	return nil
}

func (w *walker) position(n *yaml.Node) Position { return Position{File: w.file, Line: n.Line} }

// join makes a dotted key.
func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }
