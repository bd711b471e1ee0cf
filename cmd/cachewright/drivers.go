package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

// A driverRow is what drivers shows of one driver.
type driverRow struct {
	cache.DriverInfo
	Described *cache.DriverDescription `json:"described,omitempty"`
}

func (a *app) drivers() *cobra.Command {
	return &cobra.Command{
		Use:   "drivers",
		Short: "Start every driver and show what it is; --json adds its options",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.onAll(cmd.Context(), func(m *cache.CacheManager) error {
				rows := describeAll(cmd.Context(), m)
				if a.json {
					return a.printJSON(rows)
				}
				return a.printDrivers(rows)
			})
		},
	}
}

func describeAll(ctx context.Context, m *cache.CacheManager) []driverRow {
	infos := m.Drivers()
	rows := make([]driverRow, len(infos))
	failures := make([]error, len(infos))
	var wg sync.WaitGroup
	for i, info := range infos {
		wg.Go(func() {
			var described cache.DriverDescription
			if described, failures[i] = m.DescribeDriver(ctx, info.Name); failures[i] == nil {
				rows[i].Described = &described
			}
		})
	}
	wg.Wait()
	for i, info := range m.Drivers() { // now with the state after the start
		rows[i].DriverInfo = info
		if failures[i] != nil {
			rows[i].Error = failures[i].Error()
		}
	}
	return rows
}

func (a *app) printDrivers(rows []driverRow) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DRIVER\tVERSION\tRUN\tSTATE\tPID\tSTORES")
	for _, row := range rows {
		version, state, pid := "-", "failed", "-"
		if row.Described != nil {
			version, state, pid = row.Described.Version, row.State, fmt.Sprint(row.PID)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", row.Name, version, row.Run, state, pid, dash(strings.Join(row.Stores, " ")))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, row := range rows {
		if row.Described == nil {
			fmt.Fprintf(a.stderr, "%s: %s\n", row.Name, strings.TrimPrefix(row.Error, "cache: "))
		}
	}
	return nil
}
