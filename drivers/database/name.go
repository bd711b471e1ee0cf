package database

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// longestIdentifier is PostgreSQL's limit, in bytes; it cuts longer ones off.
const longestIdentifier = 63

// A tableName is a table as SQL spells it: quoted, with its schema if it was
// given one. Its text is safe in a statement.
type tableName string

var (
	errNameForm = errors.New(`must be a table or schema.table; names of other letters than a-z, 0-9 and _ ` +
		`stand in double quotes: app."My Cache"`)
	errNameLength = errors.New("has a part that is longer than PostgreSQL's 63 bytes")
)

// parseTableName reads a name as SQL would. An upper-case letter outside of
// quotes is refused, since PostgreSQL would silently take it for a lower one.
func parseTableName(text string) (tableName, error) {
	var parts []string
	for rest, more := text, true; more; {
		part, after, err := cutIdentifier(rest)
		if err != nil {
			return "", err
		}
		parts = append(parts, quoteIdentifier(part))
		rest, more = strings.CutPrefix(after, ".")
		if !more && after != "" || len(parts) > 2 {
			return "", errNameForm
		}
	}
	return tableName(strings.Join(parts, ".")), nil
}

// cutIdentifier splits text behind its first identifier.
func cutIdentifier(text string) (name, after string, err error) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		name, after, err = cutQuoted(quoted)
	} else {
		end := strings.IndexFunc(text, func(r rune) bool { return !plainLetter(r) })
		if end < 0 {
			end = len(text)
		}
		name, after = text[:end], text[end:]
		if name != "" && name[0] >= '0' && name[0] <= '9' {
			err = errNameForm
		}
	}
	switch {
	case err != nil:
		return "", "", err
	case name == "" || strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return "", "", errNameForm
	case len(name) > longestIdentifier:
		return "", "", errNameLength
	}
	return name, after, nil
}

// cutQuoted reads up to the closing quote; a doubled one is a letter.
func cutQuoted(text string) (name, after string, err error) {
	var b strings.Builder
	for {
		part, rest, closed := strings.Cut(text, `"`)
		if !closed {
			return "", "", errNameForm
		}
		b.WriteString(part)
		if text, closed = strings.CutPrefix(rest, `"`); !closed {
			return b.String(), rest, nil
		}
		b.WriteByte('"')
	}
}

func plainLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' }

func quoteIdentifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
