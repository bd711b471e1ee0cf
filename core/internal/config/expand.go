package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces references in the texts that the file spelled, within v at
// key. What comes out is never read as YAML nor expanded again. A text that
// can't be expanded is reported and taken out.
func (l *loader) expand(ctx context.Context, from origins, key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name] == nil {
				continue
			}
			if v[name] = l.expand(ctx, from, join(key, name), v[name]); v[name] == nil {
				delete(v, name)
			}
		}
	case []any:
		for i, item := range v {
			if v[i] = l.expand(ctx, from, key+"["+strconv.Itoa(i)+"]", item); v[i] == nil && item != nil {
				v[i] = ""
			}
		}
	case string:
		position := from.of(key)
		if position.File == "" {
			return v
		}
		if strings.Contains(v, "${file:") {
			l.fromFiles[key] = true
		}
		if strings.Contains(strings.ReplaceAll(v, "$$", ""), "${") {
			l.spellings[key] = v
		}
		text, err := l.expandText(ctx, v, position)
		if err != nil {
			l.add(Problem{Position: position, Key: printable(key), Reason: err.Error(), cause: err})
			return nil
		}
		return text
	}
	return v
}

func (l *loader) expandText(ctx context.Context, text string, from Position) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		if rest, ok := strings.CutPrefix(after, "$"); ok {
			b.WriteByte('$')
			text = rest
			continue
		}
		inside, opened := strings.CutPrefix(after, "{")
		body, rest, closed := strings.Cut(inside, "}")
		if !opened || !closed {
			return "", errors.New("holds a $ that starts no reference; write ${NAME} for a variable, $$ for a dollar")
		}
		value, err := l.reference(ctx, body, from)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		text = rest
	}
}

// reference gives what stands for ${body}.
func (l *loader) reference(ctx context.Context, body string, from Position) (string, error) {
	if path, ok := strings.CutPrefix(body, "file:"); ok {
		return l.textFile(ctx, path, from)
	}
	name, fallback, hasFallback := strings.Cut(body, ":-")
	if !variableName.MatchString(name) {
		return "", errors.New("holds a ${…} that names no variable; write $$ for a dollar")
	}
	if strings.Contains(fallback, "$") {
		return "", errors.New("holds a $ within ${…}; references don't nest")
	}
	value, set := l.env[name]
	switch {
	case value == "" && hasFallback:
		return fallback, nil
	case !set:
		return "", fmt.Errorf("wants the variable %s, which is not set; ${%s:-…} gives a default", name, name)
	case !utf8.ValidString(value):
		return "", fmt.Errorf("wants the variable %s, which is not valid UTF-8", name)
	}
	return value, nil
}

// maxText bounds a file that ${file:…} names.
const maxText = 64 << 10

// textFile reads a file without the line end that editors leave.
func (l *loader) textFile(ctx context.Context, path string, from Position) (string, error) {
	if path == "" || strings.Contains(path, "$") {
		return "", errors.New("wants ${file:PATH} with a path and no reference inside")
	}
	if inHome(path) {
		return "", errors.New("wants ${file:PATH} with the whole path; ~ means the home folder to a shell alone")
	}
	data, err := readRegular(ctx, l.folders.absolute(path, from), maxText)
	if err != nil {
		return "", fmt.Errorf("wants the file %s: %w", path, err)
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("wants the file %s, which is not valid UTF-8", path)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}
