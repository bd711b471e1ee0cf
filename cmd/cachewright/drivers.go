package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
				rows, _ := describe(cmd.Context(), m, func(string) bool { return true })
				if interrupted := cmd.Context().Err(); errors.Is(interrupted, context.Canceled) {
					return interrupted
				}
				if a.json {
					return a.printJSON(rows)
				}
				return a.printDrivers(rows)
			})
		},
	}
}

// describe starts the drivers that are wanted, side by side. failures are those
// that don't start, by name.
func describe(ctx context.Context, m *cache.CacheManager, wanted func(name string) bool) (rows []driverRow, failures map[string]error) {
	unwanted := func(info cache.DriverInfo) bool { return !wanted(info.Name) }
	infos := slices.DeleteFunc(m.Drivers(), unwanted)
	rows = make([]driverRow, len(infos))
	errs := sideBySide(infos, func(i int, info cache.DriverInfo) error {
		described, err := m.DescribeDriver(ctx, info.Name)
		if err == nil {
			rows[i].Described = &described
		}
		return err
	})
	failures = make(map[string]error)
	for i, info := range slices.DeleteFunc(m.Drivers(), unwanted) { // now with the state after the start
		rows[i].DriverInfo = info
		if errs[i] != nil {
			rows[i].Error = brief(cause(errs[i]))
			failures[info.Name] = errs[i]
		}
	}
	return rows, failures
}

func (a *app) printDrivers(rows []driverRow) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	p := a.palette(a.stdout)
	fmt.Fprintf(w, "DRIVER\tVERSION\tRUN\t%s\tTRANSPORT\tPID\tSTORES\n", p.plain("STATE"))
	for _, row := range rows {
		version, state, transport, pid := "-", p.bad("failed"), "-", "-"
		if row.Described != nil {
			version, state, pid = row.Described.Version, p.good(row.State), fmt.Sprint(row.PID)
			transport = row.Described.Transport
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Name, version, row.Run, state, transport, pid, dash(strings.Join(row.Stores, " ")))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, row := range rows {
		if row.Described == nil {
			fmt.Fprintf(a.stderr, "cachewright: driver %s: %s\n", row.Name, row.Error)
		}
	}
	return nil
}
