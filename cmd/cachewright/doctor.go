package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

// A finding is one line of doctor.
type finding struct {
	Level   string `json:"level"`   // ok, warn or fail
	Subject string `json:"subject"` // "configuration", "driver file", "store main"
	Text    string `json:"text"`
}

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, drivers and stores; exit 2 or 3 if something is wrong",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.onAll(cmd.Context(), func(m *cache.CacheManager) error {
				findings, failed := examine(cmd.Context(), m)
				if err := a.printFindings(findings); err != nil {
					return err
				}
				return verdict(failed)
			})
		},
	}
}

// examine looks at every driver and every store; failed joins what is wrong.
func examine(ctx context.Context, m *cache.CacheManager) (findings []finding, failed error) {
	findings = []finding{{"ok", "configuration", fmt.Sprintf("%d stores", len(m.Stores()))}}
	for _, row := range describeAll(ctx, m) {
		findings = append(findings, aboutDriver(row))
		if row.Described == nil {
			failed = errors.Join(failed, errors.New(row.Error))
		}
	}
	for _, info := range m.Stores() {
		about, err := aboutStore(ctx, m, info)
		findings = append(findings, about...)
		failed = errors.Join(failed, err)
	}
	return findings, failed
}

func aboutDriver(row driverRow) finding {
	subject := "driver " + row.Name
	if row.Described == nil {
		return finding{"fail", subject, strings.TrimPrefix(row.Error, "cache: ")}
	}
	return finding{"ok", subject, fmt.Sprintf("version %s, pid %d", row.Described.Version, row.PID)}
}

// aboutStore pings a store and passes on what its driver reports.
func aboutStore(ctx context.Context, m *cache.CacheManager, info cache.StoreInfo) ([]finding, error) {
	subject := "store " + info.Name
	store, err := m.Store(info.Name)
	if err != nil {
		return []finding{{"fail", subject, err.Error()}}, err
	}
	r := store.(*cache.CacheRepository)
	if _, err := r.Capabilities(ctx); err != nil {
		return []finding{{"fail", subject, strings.TrimPrefix(err.Error(), "cache: ")}}, err
	}
	start := time.Now()
	if err := r.Ping(ctx); err != nil {
		return []finding{{"fail", subject, strings.TrimPrefix(err.Error(), "cache: ")}}, err
	}
	findings := []finding{{"ok", subject, fmt.Sprintf("answers in %v", time.Since(start).Round(time.Microsecond))}}
	stats, err := r.Stats(ctx)
	if err != nil {
		return append(findings, finding{"fail", subject, strings.TrimPrefix(err.Error(), "cache: ")}), err
	}
	for _, s := range stats {
		findings = append(findings, findingOf(subject, s))
	}
	return findings, nil
}

func findingOf(subject string, s cache.Stat) finding {
	f := finding{"ok", subject, s.Name + " " + s.Value}
	if s.Warning != "" {
		f.Level, f.Text = "warn", f.Text+": "+s.Warning
	}
	return f
}

func (a *app) printFindings(findings []finding) error {
	if a.json {
		return a.printJSON(findings)
	}
	for _, f := range findings {
		if _, err := fmt.Fprintf(a.stdout, "%-4s  %s: %s\n", f.Level, f.Subject, f.Text); err != nil {
			return err
		}
	}
	return nil
}

// verdict is the exit: what is wrong stands in the findings already.
func verdict(failed error) error {
	switch {
	case failed == nil:
		return nil
	case isUsage(failed):
		return usagef("the configuration has to be changed; see the lines that fail")
	}
	return errors.New("not all is well; see the lines that fail")
}
