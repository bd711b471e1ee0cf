package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/cachewright/cachewright/bench/internal/baseline"
	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/cachewright/cachewright/bench/internal/floor"
	"github.com/cachewright/cachewright/bench/internal/report"
	"github.com/cachewright/cachewright/bench/internal/suite"
)

// runFlags are those of "bench run".
type runFlags struct {
	plan     contest.Plan
	short    bool
	only     string
	who      string
	profile  string
	document string
	baseline string
}

func parseRun(args []string) (f runFlags, o suite.Options, err error) {
	flags := flag.NewFlagSet("bench run", flag.ExitOnError)
	flags.IntVar(&f.plan.Rounds, "rounds", 11, "rounds; each contender has a turn in each")
	flags.DurationVar(&f.plan.Turn, "turn", 130*time.Millisecond, "length of a turn")
	flags.BoolVar(&f.short, "short", false, "a trial of a minute: three short rounds, which say little and are written nowhere")
	flags.StringVar(&f.only, "only", "", "run only contests whose key matches, and write no files")
	flags.StringVar(&f.who, "contenders", "", "let only contenders take part whose key matches; with -only")
	flags.StringVar(&f.profile, "cpuprofile", "", "write CPU profiles of host and drivers into this folder")
	flags.StringVar(&f.document, "document", "", "the page to write the tables into")
	flags.StringVar(&f.baseline, "baseline", "", "the file to write the ratios into, for bench check")
	flags.Parse(args)
	if f.short {
		f.plan = contest.Plan{Rounds: 3, Turn: 30 * time.Millisecond}
	}
	if f.short || f.only != "" {
		f.document, f.baseline = "", ""
	}
	if f.profile != "" {
		if o.Profile, err = filepath.Abs(f.profile); err != nil {
			return f, o, err
		}
		if entries, err := os.ReadDir(o.Profile); err == nil && len(entries) > 0 {
			return f, o, fmt.Errorf("%s is not empty", o.Profile)
		}
	}
	if o.Only, err = pattern(f.only); err != nil {
		return f, o, err
	}
	o.Who, err = pattern(f.who)
	return f, o, err
}

// pattern is nil for everything.
func pattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	return regexp.Compile(text)
}

// runContests holds all contests, prints them, and writes what the flags ask for.
func runContests(ctx context.Context, args []string) error {
	f, options, err := parseRun(args)
	if err != nil {
		return err
	}
	return with(ctx, options, func(b *bench) error {
		results, err := f.measure(ctx, b)
		if err != nil {
			return err
		}
		return f.publish(os.Stdout, b, results)
	})
}

// measure runs the contests, under a profile if one is wanted.
func (f runFlags) measure(ctx context.Context, b *bench) (results []contest.Result, err error) {
	if f.profile != "" {
		stop, failed := profileAll(b.suite.Profile())
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	return b.contests(ctx, shorten(b.suite.Contests(), f.short), f.plan)
}

// shorten has contests with a length of their own end early in a trial.
func shorten(contests []contest.Contest, short bool) []contest.Contest {
	for i := range contests {
		if short {
			contests[i].Turn = min(contests[i].Turn, 300*time.Millisecond)
			contests[i].Rounds = min(contests[i].Rounds, 1)
		}
	}
	return contests
}

func (f runFlags) publish(out io.Writer, b *bench, results []contest.Result) error {
	text := tables(b.suite.Sections, results)
	if f.only != "" {
		_, err := io.WriteString(out, text)
		return err
	}
	verdicts, err := floor.Judge(floor.All(), results)
	if err != nil {
		return err
	}
	machine := report.ThisMachine()
	summary := f.summary(b, machine, verdicts)
	fmt.Fprintf(out, "%s\n%s", summary, text)
	if f.document != "" {
		if err := report.Fill(f.document, "floors", summary); err != nil {
			return err
		}
		if err := report.Fill(f.document, "contests", text); err != nil {
			return err
		}
	}
	if f.baseline != "" {
		return baseline.New(machine, verdicts).Write(f.baseline)
	}
	return nil
}

func (f runFlags) summary(b *bench, machine report.Machine, verdicts []floor.Verdict) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Measured on %s, with %s and %s: %d rounds, turns of %v.\n\n%s", machine, b.rig.Versions(), report.Libraries(),
		f.plan.Rounds, f.plan.Turn, report.Floors(verdicts))
	return text.String()
}

// tables are the sections with their results, which are in the same order.
func tables(sections []suite.Section, results []contest.Result) string {
	var text strings.Builder
	for _, section := range sections {
		n := len(section.Contests)
		text.WriteString(report.Section(section.Title, section.Text, results[:n]) + "\n")
		results = results[n:]
	}
	return text.String()
}
