package sdk

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Kind is the type of an option, as YAML spells it.
type Kind string

const (
	KindString   Kind = "string"
	KindPath     Kind = "path" // relative to the configuration file's folder
	KindBool     Kind = "bool"
	KindInt      Kind = "int"
	KindFloat    Kind = "float"
	KindDuration Kind = "duration" // with a unit: 60s
	KindBytes    Kind = "bytes"    // a whole number, or with a unit: 64MiB
	KindStrings  Kind = "strings"
	KindMap      Kind = "map" // of strings
)

// An Option describes one option of a driver's stores.
type Option struct {
	Name     string // nested names are joined by dots
	Kind     Kind
	Required bool
	Secret   bool   // never shown
	Default  string // as it would stand in YAML; "" is the zero value
	Enum     []string
	Doc      string
}

// A Schema lists a driver's options in the order of its struct.
type Schema []Option

// Lookup finds an option by name.
func (s Schema) Lookup(name string) (Option, bool) {
	i := slices.IndexFunc(s, func(o Option) bool { return o.Name == name })
	if i < 0 {
		return Option{}, false
	}
	return s[i], true
}

// A Problem is what is wrong with one option.
type Problem struct {
	Key    string `json:"key"` // dotted; "" where the options as a whole are wrong
	Reason string `json:"reason"`
}

func (p Problem) String() string {
	if p.Key == "" {
		return p.Reason
	}
	return p.Key + ": " + p.Reason
}

// An OptionsError lists everything that is wrong with a store's options. It
// matches ErrInvalidOptions. An open function may return one for rules that
// span options.
type OptionsError struct {
	Problems []Problem
}

func (e *OptionsError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return "invalid options: " + strings.Join(lines, "; ")
}

// Is makes the error match ErrInvalidOptions.
func (e *OptionsError) Is(target error) bool { return target == ErrInvalidOptions }

// Check returns every problem that options have under the schema, in the order
// of the schema, unknown keys last. Options are what YAML or JSON gives: nested
// maps, scalars, lists. Text is accepted for any scalar that it spells, since
// that is all an environment variable can be.
func (s Schema) Check(options map[string]any) []Problem {
	var problems []Problem
	given := s.flatten("", options, nil)
	for _, o := range s {
		v, ok := given[o.Name]
		delete(given, o.Name)
		if reason := o.check(v, ok); reason != "" {
			problems = append(problems, Problem{o.Name, reason})
		}
	}
	unknown := make([]string, 0, len(given))
	for key := range given {
		unknown = append(unknown, key)
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		problems = append(problems, Problem{key, s.unknown(key)})
	}
	return problems
}

func (o Option) check(v any, present bool) string {
	if !present || v == nil {
		if o.Required {
			return "is required"
		}
		return ""
	}
	parsed, err := o.Kind.parse(v)
	if err != nil {
		return err.Error()
	}
	if o.Required && empty(parsed) {
		return "must not be empty"
	}
	if text, ok := parsed.(string); ok && len(o.Enum) > 0 && !slices.Contains(o.Enum, text) {
		return fmt.Sprintf("must be one of %s", strings.Join(o.Enum, ", "))
	}
	return ""
}

// empty reports whether a text, a list or a map is.
func empty(parsed any) bool {
	switch v := parsed.(type) {
	case string:
		return v == ""
	case []string:
		return len(v) == 0
	case map[string]string:
		return len(v) == 0
	}
	return false
}

// flatten gives nested options their dotted names. A map stays whole where the
// schema wants one. A name that has a dot already is quoted, so that nothing
// has two spellings.
func (s Schema) flatten(prefix string, options map[string]any, into map[string]any) map[string]any {
	if into == nil {
		into = make(map[string]any, len(options))
	}
	for key, v := range options {
		if strings.Contains(key, ".") {
			key = strconv.Quote(key)
		}
		name := prefix + key
		nested, isMap := v.(map[string]any)
		if (isMap || v == nil) && s.hasPrefix(name+".") {
			s.flatten(name+".", nested, into)
			continue
		}
		into[name] = v
	}
	return into
}

func (s Schema) hasPrefix(prefix string) bool {
	return slices.ContainsFunc(s, func(o Option) bool { return strings.HasPrefix(o.Name, prefix) })
}

func (s Schema) unknown(key string) string {
	if s.hasPrefix(key + ".") {
		return "wants nested options"
	}
	names := make([]string, len(s))
	for i, o := range s {
		names[i] = o.Name
	}
	if len(names) == 0 {
		return "is not an option; this driver has none"
	}
	return "is not an option; there are " + strings.Join(names, ", ")
}

// parse turns what YAML, JSON or the environment gave into the kind's Go value:
// string, bool, int64, float64, time.Duration, Bytes, []string or
// map[string]string.
func (k Kind) parse(v any) (any, error) {
	switch k {
	case KindString, KindPath:
		if text, ok := v.(string); ok {
			return text, nil
		}
		return nil, fmt.Errorf("wants text; put it in quotes")
	case KindBool:
		return parseBool(v)
	case KindInt:
		return parseInt(v)
	case KindFloat:
		return parseFloat(v)
	case KindDuration:
		return parseDuration(v)
	case KindBytes:
		return parseBytes(v)
	case KindStrings:
		return parseStrings(v)
	case KindMap:
		return parseMap(v)
	}
	return nil, fmt.Errorf("has a kind that this version does not know: %s", k)
}

func parseBool(v any) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case string:
		if v == "true" || v == "false" {
			return v == "true", nil
		}
	}
	return false, fmt.Errorf("wants true or false")
}

func parseInt(v any) (int64, error) {
	n, err := strconv.ParseInt(scalar(v), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("wants a whole number")
	}
	return n, nil
}

func parseFloat(v any) (float64, error) {
	f, err := strconv.ParseFloat(scalar(v), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("wants a number")
	}
	return f, nil
}

func parseDuration(v any) (time.Duration, error) {
	text, _ := v.(string)
	d, err := time.ParseDuration(text)
	if err != nil || text == "0" {
		return 0, fmt.Errorf("wants a duration with a unit, such as 60s")
	}
	return d, nil
}

func parseStrings(v any) ([]string, error) {
	switch v := v.(type) {
	case []string:
		return v, nil
	case string: // from the environment
		parts := strings.Split(v, ",")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		return parts, nil
	case []any:
		list := make([]string, len(v))
		for i, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("wants a list of texts; put item %d in quotes", i+1)
			}
			list[i] = text
		}
		return list, nil
	}
	return nil, fmt.Errorf("wants a list of texts")
}

func parseMap(v any) (map[string]string, error) {
	switch v := v.(type) {
	case map[string]string:
		return v, nil
	case map[string]any:
		m := make(map[string]string, len(v))
		for key, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("wants texts; put the value of %s in quotes", key)
			}
			m[key] = text
		}
		return m, nil
	}
	return nil, fmt.Errorf("wants names with texts")
}

// scalar spells a number or a text; anything else is spelled so that no number
// is read from it.
func scalar(v any) string {
	switch v.(type) {
	case bool, nil, []any, map[string]any:
		return "no number"
	}
	return fmt.Sprint(v)
}
