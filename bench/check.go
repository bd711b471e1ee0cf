package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/cachewright/cachewright/bench/internal/baseline"
	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/cachewright/cachewright/bench/internal/floor"
	"github.com/cachewright/cachewright/bench/internal/report"
	"github.com/cachewright/cachewright/bench/internal/suite"
)

// errFailed says that the verdict, which was printed, is FAIL.
var errFailed = errors.New("the check failed")

// runCheck measures the ratios that are kept and judges them. What fails is
// measured once more, because a neighbour on the machine is no regression.
func runCheck(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench check", flag.ExitOnError)
	path := flags.String("baseline", "baseline.json", "the ratios to compare with")
	rounds := flags.Int("rounds", 21, "rounds")
	turn := flags.Duration("turn", 150*time.Millisecond, "length of a turn")
	flags.Parse(args)
	committed, err := baseline.Read(*path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c := check{baseline: committed, machine: report.ThisMachine(), plan: contest.Plan{Rounds: *rounds, Turn: *turn}}
	err = with(ctx, suite.Options{}, func(b *bench) error { return c.run(ctx, b) })
	if err == nil {
		c.verdict(os.Stdout)
		if len(c.found) > 0 {
			return errFailed
		}
	}
	return err
}

type check struct {
	baseline baseline.Baseline
	machine  report.Machine
	plan     contest.Plan
	found    []baseline.Finding
}

func (c *check) run(ctx context.Context, b *bench) error {
	floors := floor.All()
	for attempt := range 2 {
		results, err := b.contests(ctx, needed(b.suite.Contests(), floors), c.plan)
		if err != nil {
			return err
		}
		verdicts, err := floor.Judge(floors, results)
		if err != nil {
			return err
		}
		fmt.Println(report.Floors(verdicts))
		c.found = c.baseline.Check(c.machine, verdicts)
		if len(c.found) == 0 {
			return nil
		}
		if attempt == 0 {
			say("%d ratios fail and are measured again", len(c.found))
		}
		floors = floorsOf(c.found)
	}
	return nil
}

func floorsOf(found []baseline.Finding) (floors []floor.Floor) {
	for _, f := range found {
		floors = append(floors, f.Floor)
	}
	return floors
}

// needed are the contests, among only those contenders, that floors are about.
func needed(contests []contest.Contest, floors []floor.Floor) (kept []contest.Contest) {
	for _, c := range contests {
		var keys []string
		for _, f := range floors {
			if f.Contest == c.Key {
				keys = append(keys, f.Of, f.Against)
			}
		}
		if len(keys) > 0 {
			kept = append(kept, c.With(func(key string) bool { return slices.Contains(keys, key) }))
		}
	}
	return kept
}

// verdict is the last that is printed.
func (c *check) verdict(out io.Writer) {
	for _, f := range c.found {
		fmt.Fprintf(out, "%s: %s\n", f.Work, f.Why)
	}
	if len(c.found) > 0 {
		fmt.Fprintf(out, "FAIL %s: %d of %d ratios\n", c.standard(), len(c.found), len(floor.All()))
		return
	}
	fmt.Fprintf(out, "PASS %s: %d ratios\n", c.standard(), len(floor.All()))
}

// standard is what the ratios were judged by.
func (c *check) standard() string {
	switch {
	case c.baseline.Applies(c.machine):
		return "against the baseline of this machine"
	case c.baseline.Ratios == nil:
		return "by the floors, for there is no baseline"
	}
	return "by the floors, for the baseline is of another machine"
}
