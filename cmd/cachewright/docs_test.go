package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

const (
	page           = "../../docs/cli.md"
	tableBegins    = "<!-- commands -->\n"
	tableEnds      = "<!-- end of commands -->\n"
	tableHead      = "| command | flags | |\n|---|---|---|\n"
	flagsOfNothing = "help timeout "
)

// commandTable is the table of commands as the page has it.
func commandTable() string {
	var b strings.Builder
	b.WriteString(tableHead)
	for _, cmd := range helped()[1:] {
		if cmd.HasSubCommands() {
			continue
		}
		var flags []string
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(flagsOfNothing, f.Name+" ") || cmd.Name() == "lock" && f.Name != "help" {
				flags = append(flags, "`--"+f.Name+"`")
			}
		})
		use := strings.ReplaceAll(strings.TrimPrefix(usageOf(cmd), "cachewright "), "|", `\|`)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", use, strings.Join(flags, " "), cmd.Short)
	}
	return b.String()
}

func TestTheReferenceHasEveryCommand(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), tableBegins)
	table, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table of commands", page)
	}
	if *update {
		table = commandTable()
		if err := os.WriteFile(page, []byte(before+tableBegins+table+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if table != commandTable() {
		t.Errorf("%s has\n%s\nand not\n%s\ngo test -update writes it", page, table, commandTable())
	}
	newApp(nil, nil, nil).root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(string(data), "--"+f.Name) {
			t.Errorf("%s says nothing about --%s", page, f.Name)
		}
	})
	for _, code := range []int{exitYes, exitNo, exitUsage, exitFailed, exitConflict, exitLost, exitPipe} {
		if !strings.Contains(string(data), fmt.Sprintf("\n| %d |", code)) {
			t.Errorf("%s says nothing about exit code %d", page, code)
		}
	}
}

func TestTheReferencesLinesOfAnExportAreEntries(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "```json\n")
	lines, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("there are none")
	}
	s := newShell(t, testConfig)
	s.play([]step{{args: "import", stdin: lines, stdout: "2\n"}, {args: "get greeting", stdout: "\"hello\"\n"}})
}
