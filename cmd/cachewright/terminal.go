package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// isTerminal tells whether somebody looks at what is written there.
func isTerminal(w any) bool {
	if p, ok := w.(painted); ok {
		w = p.shown
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// columnsOf is how wide a terminal is, and 0 where nobody looks. One that does not
// know is taken for an ordinary one.
func columnsOf(w any) int {
	if !isTerminal(w) {
		return 0
	}
	columns, _, err := term.GetSize(int(w.(*os.File).Fd()))
	if err != nil || columns == 0 {
		return 80
	}
	return columns
}

// A choice is a flag that takes one of a few words.
type choice struct {
	word  string
	words []string // the first is the default
}

func choiceOf(words ...string) choice { return choice{words[0], words} }

func (c *choice) String() string { return c.word }
func (c *choice) Type() string   { return strings.Join(c.words, "|") }

func (c *choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("give %s", strings.Join(c.words, ", "))
	}
	c.word = word
	return nil
}

// A palette paints words, or leaves them plain. Every paint adds the same
// number of bytes, so that painted columns stay aligned.
type palette bool

// palette is the one for an output: --color decides, else NO_COLOR, else
// whether it is a terminal.
func (a *app) palette(w io.Writer) palette {
	switch a.color.word {
	case "always":
		return true
	case "never":
		return false
	}
	return palette(os.Getenv("NO_COLOR") == "" && isTerminal(w))
}

func (p palette) good(text string) string  { return p.paint("32", text) }
func (p palette) warn(text string) string  { return p.paint("33", text) }
func (p palette) bad(text string) string   { return p.paint("31", text) }
func (p palette) bold(text string) string  { return p.paint("01", text) }
func (p palette) plain(text string) string { return p.paint("00", text) }

func (p palette) paint(code, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
