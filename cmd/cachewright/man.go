package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (a *app) man() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a folder",
		Long: `Write the manual pages, one a command, into a folder, which is made if need be. SOURCE_DATE_EPOCH is their date, where
a build is to be repeatable.`,
		Example: "  cachewright man ~/.local/share/man/man1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			date, err := manDate()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usagef("%w; name a folder that can be written to", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			for _, page := range append([]*cobra.Command{root}, allCommands(root)...) {
				if !page.IsAvailableCommand() && page != root || page.IsAdditionalHelpTopicCommand() {
					continue
				}
				if err := writePage(page, date, args[0]); err != nil {
					return fmt.Errorf("write the manual pages: %w", err)
				}
			}
			if a.json {
				return a.print("wrote", args[0])
			}
			_, err = fmt.Fprintf(a.stdout, "wrote %s; man -l %s shows the first\n", args[0], filepath.Join(args[0], "cachewright.1"))
			return err
		},
	}
}

// writePage writes the page of one command, under its name.
func writePage(cmd *cobra.Command, date *time.Time, folder string) error {
	var page bytes.Buffer
	header := &doc.GenManHeader{Section: "1", Source: "Cachewright", Manual: "Cachewright", Date: date}
	if err := doc.GenMan(cmd, header, &page); err != nil {
		return err
	}
	text := switchDefault.ReplaceAllString(page.String(), "")
	before, after, _ := strings.Cut(text, seeAlso)
	if after != "" {
		after = seeAlso + after
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	return os.WriteFile(filepath.Join(folder, name), []byte(before+"\n"+moreOf(cmd)+"\n"+after), 0o644)
}

const seeAlso = ".SH SEE ALSO\n"

// switchDefault is what the generator says of every switch, which is off.
var switchDefault = regexp.MustCompile(`\[=false\]`)

// A definition is an entry of a list in a page.
type definition struct{ name, meaning string }

var (
	exitTerms = []definition{
		{"0", "done; or yes"},
		{"1", "no: the key is absent, or nothing was stored"},
		{"2", "the command line or the configuration is at fault: trying again is of no use"},
		{"3", "a store or a driver failed, or time ran out"},
		{"129, 130, 143", "HUP, INT or TERM ended it"},
		{"141", "whoever read stdout has left"},
	}
	lockExitTerms = []definition{
		{"75", "the lock was not obtained; --conflict-code gives another code"},
		{"76", "the lock was lost while the command ran"},
		{"127", "there is no such command"},
		{"any other", "that of the command"},
	}
	environmentTerms = []definition{
		{"CACHEWRIGHT_CONFIG", "the configuration files where -c names none, separated as in PATH"},
		{"CACHEWRIGHT_DEFAULT, CACHEWRIGHT_STORES__STORE__KEY", "values of the configuration"},
		{"NO_COLOR", "set and not empty: nothing is painted unless --color always"},
		{"TERM", "dumb: no paint and no progress"},
		{"XDG_RUNTIME_DIR, TMPDIR", "where drivers have their sockets, in a folder that ends with them"},
	}
	fileTerms = []definition{{"config.yaml", "the configuration, in the working directory, where neither -c nor CACHEWRIGHT_CONFIG names one"}}
)

// moreOf are the sections that the generator does not know.
func moreOf(cmd *cobra.Command) string {
	exits, environment := exitTerms, environmentTerms
	switch cmd.Name() {
	case "lock":
		exits = append(slices.Clone(exits), lockExitTerms...)
		environment = append([]definition{{fencingVariable, "set for the command: the fencing token of the lock"}}, environment...)
	case "man":
		environment = append([]definition{{"SOURCE_DATE_EPOCH", "the date of the pages"}}, environment...)
	}
	return section("EXIT STATUS", exits) + section("ENVIRONMENT", environment) + section("FILES", fileTerms)
}

func section(title string, terms []definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".SH %s\n", title)
	for _, t := range terms {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fP\n%s\n", t.name, strings.ReplaceAll(t.meaning, "-", `\-`))
	}
	return b.String()
}

func manDate() (*time.Time, error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return new(time.Now()), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, usagef("SOURCE_DATE_EPOCH is no number of seconds since 1970")
	}
	return new(time.Unix(seconds, 0).UTC()), nil
}
