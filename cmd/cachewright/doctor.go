package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

// A finding is one line of doctor.
type finding struct {
	Level   level    `json:"level"`
	Subject string   `json:"subject"` // "configuration", "driver file", "store main"
	Text    string   `json:"text"`
	Keys    []string `json:"keys,omitempty"` // what the configuration says about a subject that fails, and where
}

type level string

const (
	levelOK   level = "ok"
	levelWarn level = "warn" // works, and should be looked at
	levelFail level = "fail"
)

func (a *app) doctor() *cobra.Command {
	var write, quiet bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for everything that is wrong: configuration, drivers, stores",
		Long: `Look for everything that is wrong: the configuration and who may change it, drivers, their versions and pins, and for
each store whether it is reached, how fast, and what its driver reports, such as permissions of folders. -s STORE looks
at one store and its driver. A line is ok, warn for what works and should be looked at, or fail. The exit code is 0
without a fail, 2 if the configuration is at fault, and 3 if something else is.`,
		Example: "  cachewright doctor\n  cachewright doctor --quiet\n  cachewright doctor -s redis --write",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var d diagnosis
			err := a.onAll(cmd.Context(), func(m *cache.CacheManager) error {
				if _, err := m.Store(a.store); err != nil {
					return err
				}
				d.examine(cmd.Context(), m, a.store, write)
				return nil
			})
			if interrupted := cmd.Context().Err(); errors.Is(interrupted, context.Canceled) {
				return interrupted // what was cut off is no finding
			}
			if err != nil && !errors.Is(err, cache.ErrInvalidConfig) {
				return err
			}
			d.failed(err, "configuration")
			if quiet {
				return errors.Join(a.printTroubles(d.findings), d.verdict())
			}
			return errors.Join(a.printFindings(d.findings), d.verdict())
		},
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show warnings and failures only")
	cmd.Flags().BoolVar(&write, "write", false, "also store, read and remove an entry in each store")
	return cmd
}

// A diagnosis collects findings, and what failed for the exit code.
type diagnosis struct {
	findings []finding
	errs     []error
	settings []cache.Setting
}

func (d *diagnosis) add(l level, subject, text string) {
	d.findings = append(d.findings, finding{Level: l, Subject: subject, Text: text})
}

// failed makes a finding of each line of an error; nil is none.
func (d *diagnosis) failed(err error, subject string, keys ...string) {
	if err == nil {
		return
	}
	d.errs = append(d.errs, err)
	lines := strings.Split(brief(cause(err)), "\n")
	if !errors.Is(err, cache.ErrInvalidConfig) {
		lines = []string{strings.Join(lines, "; ")}
	}
	for _, line := range lines {
		d.add(levelFail, subject, line)
	}
	d.findings[len(d.findings)-1].Keys = keys
}

// cause leaves out what was done to which store: the subject says it.
func cause(err error) error {
	if failed, ok := err.(*cache.Error); ok {
		return failed.Err
	}
	return err
}

// verdict is the exit: what is wrong stands in the findings already.
func (d *diagnosis) verdict() error {
	failed := errors.Join(d.errs...)
	switch {
	case failed == nil:
		return nil
	case isUsage(failed):
		return usagef("the configuration has to be changed; the lines that begin with fail say where")
	}
	return errors.New("not all is well; the lines that begin with fail say what is wrong")
}

// examine looks at everything, or at one store and its driver.
func (d *diagnosis) examine(ctx context.Context, m *cache.CacheManager, only string, write bool) {
	stores, drivers := m.Stores(), map[string]bool{}
	kept := stores[:0:0]
	for _, info := range stores {
		if only == "" || info.Name == only {
			kept = append(kept, info)
			drivers[info.Driver] = true
		}
	}
	rows, down := describe(ctx, m, func(name string) bool { return only == "" || drivers[name] })
	d.settings, _ = m.Settings(ctx, only == "") // what a driver or a store has against it, they say below
	d.configuration(len(stores))
	d.add(levelOK, "program", "version "+versionText())
	d.drivers(rows, down)
	if notes := foreignCodecs(kept); len(notes) > 0 {
		d.add(levelWarn, "configuration", strings.Join(notes, "; "))
	}
	for _, info := range kept {
		if err := down[info.Driver]; err != nil {
			d.failed(fmt.Errorf("its driver does not start, see driver %s", info.Driver), "store "+info.Name)
			d.errs[len(d.errs)-1] = err
			continue
		}
		d.store(ctx, m, info, write)
	}
}

func (a *app) printFindings(findings []finding) error {
	if a.json {
		return a.printJSON(findings)
	}
	p := a.palette(a.stdout)
	counts := map[level]int{}
	for _, f := range findings {
		counts[f.Level]++
		if err := p.printFinding(a.stdout, f); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.stdout, "\n%d ok, %d warn, %d fail\n", counts[levelOK], counts[levelWarn], counts[levelFail])
	return err
}

// printTroubles leaves out what is well, and the sum.
func (a *app) printTroubles(findings []finding) error {
	troubles := slices.DeleteFunc(slices.Clone(findings), func(f finding) bool { return f.Level == levelOK })
	if a.json {
		return a.printJSON(append([]finding{}, troubles...)) // [] for none
	}
	for _, f := range troubles {
		if err := a.palette(a.stdout).printFinding(a.stdout, f); err != nil {
			return err
		}
	}
	return nil
}

func (p palette) printFinding(w io.Writer, f finding) error {
	paint := map[level]func(string) string{levelOK: p.good, levelWarn: p.warn, levelFail: p.bad}[f.Level]
	_, err := fmt.Fprintf(w, "%s  %s: %s\n", paint(fmt.Sprintf("%-4s", f.Level)), f.Subject, f.Text)
	for _, key := range f.Keys {
		if err == nil {
			_, err = fmt.Fprintf(w, "      %s\n", key)
		}
	}
	return err
}
