package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachewright/cachewright/internal/wire"
)

// A Position is where a value stands: a line of a file, or a variable of the
// environment. The zero Position is a program.
type Position struct {
	File     string
	Line     int // from 1; 0 is the file as a whole
	Variable string
}

// String is FILE:LINE or $VARIABLE.
func (p Position) String() string {
	switch {
	case p.Variable != "":
		return "$" + printable(p.Variable)
	case p.Line > 0:
		return p.File + ":" + strconv.Itoa(p.Line)
	}
	return p.File
}

// A Problem is one thing that is wrong.
type Problem struct {
	Position
	Key    string // dotted; "" where no key is to blame
	Reason string

	cause error
}

// String is FILE:LINE: key: reason, without the parts that there aren't.
func (p Problem) String() string {
	parts := []string{p.Position.String(), p.Key, p.Reason}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// An Error is everything that is wrong, sorted by position: first the files,
// then the environment. It matches ErrInvalidConfig and the causes of problems
// that have one, such as fs.ErrNotExist.
type Error struct {
	Problems []Problem
}

// Error is one problem a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Is makes the error match ErrInvalidConfig.
func (e *Error) Is(target error) bool { return target == wire.ErrInvalidConfig }

// Unwrap returns the causes.
func (e *Error) Unwrap() []error {
	var causes []error
	for _, p := range e.Problems {
		if p.cause != nil {
			causes = append(causes, p.cause)
		}
	}
	return causes
}

// origins remembers where values came from, by dotted key; items of lists are
// key[0], the document as a whole is "".
type origins map[string]Position

// of is the position of a key, or else of what a variable set below it, or else
// of the nearest one around it.
func (o origins) of(key string) Position {
	if _, ok := o[key]; !ok {
		if p, ok := o.below(key + "."); ok {
			return p
		}
	}
	for key != "" {
		if p, ok := o[key]; ok {
			return p
		}
		if p, ok := o[strings.ToLower(key)]; ok { // options from variables are lower case
			return p
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return o[""]
}

func (o origins) below(prefix string) (Position, bool) {
	first := ""
	for key := range o {
		if strings.HasPrefix(key, prefix) && (first == "" || key < first) {
			first = key
		}
	}
	return o[first], first != ""
}

// A report collects problems, one for each position and key: what follows from
// a first problem is not worth a second.
type report struct {
	origins  origins
	files    []string // in the order in which they are laid over each other
	problems []Problem
	seen     map[Problem]bool
}

// about reports a key where it stands.
func (r *report) about(key, reason string, args ...any) {
	r.at(r.origins.of(key), key, reason, args...)
}

func (r *report) at(p Position, key, reason string, args ...any) {
	r.add(Problem{Position: p, Key: printable(key), Reason: fmt.Sprintf(reason, args...)})
}

func (r *report) add(p Problem) {
	place := Problem{Position: p.Position, Key: p.Key}
	if r.seen[place] && p.Key != "" {
		return
	}
	if r.seen == nil {
		r.seen = make(map[Problem]bool)
	}
	r.seen[place] = true
	r.problems = append(r.problems, p)
}

// reported tells whether a problem of the key itself is known.
func (r *report) reported(key string) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Key == printable(key) })
}

// reportedBelow tells whether a problem of a key below this one is known.
func (r *report) reportedBelow(key string) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return strings.HasPrefix(p.Key, key+".") })
}

// maxProblems is how many an error lists.
const maxProblems = 100

// err is nil without problems.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	r.sort()
	if more := len(r.problems) - maxProblems; more > 0 {
		r.problems = append(r.problems[:maxProblems], Problem{Reason: fmt.Sprintf("there are %d more problems", more)})
	}
	return &Error{r.problems}
}

func (r *report) sort() {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Variable, b.Variable), // a file's are ""
			cmp.Compare(slices.Index(r.files, a.File), slices.Index(r.files, b.File)),
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Key, b.Key),
		)
	})
}

// printable cuts a key before the first character that no key of ours has.
// What follows may be a value that slipped into the key, as in
// {password:hunter2}.
func printable(key string) string {
	ours := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-./[]", r)
	}
	for i, r := range key {
		if !ours(r) {
			return key[:i] + "…"
		}
	}
	return key
}
