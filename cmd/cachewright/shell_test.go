package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// offered are the completions of a command line, without their notes.
func (s shell) offered(args ...string) (words []string, directive string) {
	s.t.Helper()
	code, stdout, _ := s.run("", append([]string{cobra.ShellCompRequestCmd}, args...)...)
	if code != exitYes {
		s.t.Errorf("completing %q: exit %d", args, code)
	}
	for line := range strings.Lines(stdout) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		words = append(words, word)
	}
	if len(words) == 0 {
		s.t.Fatalf("completing %q: no directive", args)
	}
	return words[:len(words)-1], words[len(words)-1]
}

func TestTheShellIsOfferedWhatMayStandThere(t *testing.T) {
	t.Parallel()
	s := newShell(t, testConfig)
	s.play([]step{
		{args: "set user:1 1"}, {args: "set user:2 1"}, {args: "set other 1"},
		{args: "import", stdin: `{"key":"line\nbreak","value":1}`, stdout: "1\n"},
	})
	const noFiles, files = ":4", ":0"
	for line, want := range map[string]string{
		"-s |":                   "file raw memory redis broken " + noFiles,
		"get --store r|":         "raw redis " + noFiles,
		"get |":                  "other user:1 user:2 " + noFiles,
		"get user:|":             "user:1 user:2 " + noFiles,
		"get user:1 |":           noFiles,
		"delete user:1 user:|":   "user:2 " + noFiles,
		"set o|":                 "other " + noFiles,
		"set other |":            noFiles,
		"keys u|":                "user:1 user:2 " + noFiles,
		"lock o|":                "other " + noFiles,
		"lock other |":           files,
		"-s memory get |":        noFiles,
		"-s redis get |":         noFiles, // which does not answer
		"-s broken get |":        noFiles, // whose driver is not there
		"-s none get |":          noFiles,
		"-c /no/such/file get |": noFiles,
		"-c /no/such/file -s |":  noFiles,
		"--color |":              "auto always never " + noFiles,
		"lock --strategy |":      "exclusive lease redlock " + noFiles,
		"get --timeout |":        noFiles,
		"config |":               "check schema show " + noFiles,
		"man |":                  ":16",
		"demo --dir |":           ":16",
		"import |":               files,
		"ver|":                   "version " + noFiles,
	} {
		typed := strings.Split(strings.TrimSuffix(line, "|"), " ")
		words, directive := s.offered(typed...)
		if got := strings.Join(append(words, directive), " "); got != want {
			t.Errorf("%s is offered %q, want %q", line, got, want)
		}
	}
}

// Whoever writes to the store chooses its keys, and a shell runs what it is given.
func TestTheShellIsOfferedNoKeyThatItWouldRun(t *testing.T) {
	t.Parallel()
	s := newShell(t, testConfig)
	plain := []string{"a", "user:1", "über/naïve.txt", "a=b", "a@b", "a+b", "a%20b", "a,b", "a-b", "_a", "/a", "1", "ключ"}
	hostile := []string{
		"$(touch x)", "a$(touch x)b", "a`touch x`", "${HOME}", "a;b", "a|b", "a&b", "a>b", "a<b", "(a)", "a b", "a\tb", "a\nb", "a\\b", "a'b", `a"b`,
		"a*", "a?", "[a]", "{a,b}", "~", "~root", "#a", "a#b", "!a", "a!b", "-a", "--yes", "=a", ":4", "@a", "%1", "_activeHelp_ x", "a\x1b[31m", "a\u202eb", "a\u00a0b", "^a", "a^b",
	}
	var lines strings.Builder
	for _, key := range slices.Concat(plain, hostile) {
		line, err := json.Marshal(map[string]any{"key": key, "value": 1})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	s.play([]step{{args: "import", stdin: lines.String(), stdout: fmt.Sprintln(len(plain) + len(hostile))}})
	slices.Sort(plain)
	if words, _ := s.offered("get", ""); !slices.Equal(words, plain) {
		t.Errorf("offered %q, want %q", words, plain)
	}
}

func TestTheShellIsOfferedNoMoreKeysThanItCanShow(t *testing.T) {
	t.Parallel()
	s := newShell(t, testConfig)
	var lines strings.Builder
	for i := range completionKeys * 3 {
		lines.WriteString(`{"key":"k` + strings.Repeat("x", i) + `","value":1}` + "\n")
	}
	s.play([]step{{args: "import", stdin: lines.String(), stdout: "300\n"}})
	if words, _ := s.offered("get", ""); len(words) != completionKeys {
		t.Errorf("%d keys", len(words))
	}
}

func TestEveryCommandThatCallsAStoreTakesATimeout(t *testing.T) {
	t.Parallel()
	without := map[string]bool{"init": true, "man": true, "version": true, "demo": true, "schema": true, "config": true, "bench": true, "locks": true}
	for _, cmd := range helped()[1:] {
		has := cmd.Flags().Lookup("timeout") != nil
		if has == without[cmd.Name()] {
			t.Errorf("%s: has --timeout: %t", cmd.CommandPath(), has)
		}
	}
	s := newShell(t, testConfig)
	s.play([]step{
		{args: "set k 1 --timeout 30s"},
		{args: "get k --timeout 30s", stdout: "1\n"},
		{args: "get k --timeout 1ns", code: exitFailed, stderr: "--timeout gives the command more time"},
		{args: "get k --timeout -1s", code: exitUsage, stderr: "leaves no time"},
		{args: "set k - --timeout 1ms --raw", stdin: "x", code: exitFailed, stderr: "--timeout gives the command more time"},
	})
}
