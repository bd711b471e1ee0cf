package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cachewright/cachewright/bench/internal/growth"
	"github.com/cachewright/cachewright/bench/internal/report"
)

// runGrowth measures growth, prints it, and writes it where the flags say. What
// grows faster than it may is an error at the end.
func runGrowth(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench growth", flag.ExitOnError)
	entries := flags.Int("entries", 1_000_000, "the most entries; ten million take some 3 GiB of memory")
	turn := flags.Duration("turn", 500*time.Millisecond, "length of a turn; each number is of three")
	document := flags.String("document", "", "the page to write the tables into")
	flags.Parse(args)
	program, err := os.Executable()
	if err != nil {
		return err
	}
	chapters, err := growth.All(ctx, growth.Options{Program: program, Entries: *entries, Turn: *turn}, say)
	if err != nil {
		return err
	}
	text, faults := growthText(chapters)
	fmt.Print(text)
	if *document != "" {
		if err := report.Fill(*document, "growth", text); err != nil {
			return err
		}
	}
	if faults > 0 {
		return fmt.Errorf("%d numbers grow faster than they may", faults)
	}
	return nil
}

func growthText(chapters []growth.Chapter) (text string, faults int) {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s.\n", report.ThisMachine())
	for _, c := range chapters {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n%s\n", c.Title, c.Text, c.Table)
		if len(c.Faults) == 0 {
			b.WriteString("Nothing here grows faster than it may.\n")
			continue
		}
		b.WriteString("**Grows faster than it may:**\n\n")
		for _, fault := range c.Faults {
			b.WriteString("- " + fault + "\n")
		}
		faults += len(c.Faults)
	}
	return b.String(), faults
}
