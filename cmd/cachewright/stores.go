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

// A storeRow is what stores shows of one store.
type storeRow struct {
	cache.StoreInfo
	Timeout string              `json:"timeout"`
	Ready   bool                `json:"ready"`
	Error   string              `json:"error,omitempty"`
	Opened  *cache.Capabilities `json:"announced,omitempty"`
}

func (a *app) stores() *cobra.Command {
	return &cobra.Command{
		Use:   "stores",
		Short: "Open every store and show what it is and what its driver announced",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, closeAll, err := a.open(cmd.Context())
			defer closeAll()
			if err != nil {
				return err
			}
			rows := openAll(cmd.Context(), m)
			if a.json {
				return a.printJSON(rows)
			}
			return a.printStores(rows)
		},
	}
}

// openAll opens the stores side by side: one that fails disturbs no other.
func openAll(ctx context.Context, m *cache.CacheManager) []storeRow {
	infos := m.Stores()
	rows := make([]storeRow, len(infos))
	var wg sync.WaitGroup
	for i, info := range infos {
		wg.Go(func() { rows[i] = openRow(ctx, m, info) })
	}
	wg.Wait()
	return rows
}

func openRow(ctx context.Context, m *cache.CacheManager, info cache.StoreInfo) storeRow {
	row := storeRow{StoreInfo: info, Timeout: info.Timeout.String()}
	r, err := m.Store(info.Name)
	if err == nil {
		var announced cache.Capabilities
		announced, err = r.(*cache.CacheRepository).Capabilities(ctx)
		row.Opened = &announced
	}
	if err != nil {
		row.Error, row.Opened = err.Error(), nil
		return row
	}
	row.Ready = true
	return row
}

func (a *app) printStores(rows []storeRow) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STORE\tDRIVER\tSTATE\tPREFIX\tCODEC\tTIMEOUT\tLOCK\tSCOPE\tOPERATIONS")
	for _, row := range rows {
		name := row.Name
		if row.Default {
			name += " *"
		}
		state, lock, scope, operations := "failed", row.LockStrategy, "", ""
		if row.Ready {
			state, scope, operations = "ready", row.Opened.LockScope, strings.Join(row.Opened.Operations, " ")
			if lock == "" {
				lock = row.Opened.LockStrategy
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, row.Driver, state, dash(row.Prefix), row.Codec, row.Timeout, dash(lock), dash(scope), dash(operations))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, row := range rows {
		if !row.Ready {
			fmt.Fprintf(a.stderr, "%s: %s\n", row.Name, strings.TrimPrefix(row.Error, "cache: "))
		}
	}
	return nil
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
