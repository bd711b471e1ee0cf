package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

// A storeRow is what stores shows of one store.
type storeRow struct {
	cache.StoreInfo
	Timeout string              `json:"timeout"`
	Ready   bool                `json:"ready"`
	Answers string              `json:"answers_in,omitempty"` // how long a ping took
	Error   string              `json:"error,omitempty"`
	Opened  *cache.Capabilities `json:"announced,omitempty"`
	Locks   *cache.LockInfo     `json:"locks,omitempty"` // nil: it has none
}

func (a *app) stores() *cobra.Command {
	var w watch
	cmd := &cobra.Command{
		Use:   "stores [--watch [INTERVAL]]",
		Short: "Open every store and show what it is and what its driver announced",
		Long: `Open every store and show what it is and what its driver announced. The default store bears a *. A store that
can't be opened is shown as failed, and why is said on stderr.`,
		Example: "  cachewright stores\n  cachewright stores --watch 5s",
		Args:    w.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onAll(cmd.Context(), func(m *cache.CacheManager) error {
				show := func(ctx context.Context, stdout, stderr io.Writer) error {
					return a.showStores(ctx, m, stdout, stderr)
				}
				if !w.on() {
					return a.whole(cmd.Context(), show)
				}
				return a.watch(cmd.Context(), w.interval, show)
			})
		},
	}
	w.flag(cmd)
	return cmd
}

// whole shows nothing of what a signal cut off.
func (a *app) whole(ctx context.Context, show func(ctx context.Context, stdout, stderr io.Writer) error) error {
	var stdout, stderr bytes.Buffer
	err := show(ctx, painted{&stdout, a.stdout}, &stderr)
	if interrupted := ctx.Err(); errors.Is(interrupted, context.Canceled) {
		return interrupted
	}
	_, failed := stdout.WriteTo(a.stdout)
	_, _ = stderr.WriteTo(a.stderr)
	return errors.Join(err, failed)
}

func (a *app) showStores(ctx context.Context, m *cache.CacheManager, stdout, stderr io.Writer) error {
	rows := openAll(ctx, m)
	if a.json {
		return writeJSON(stdout, rows)
	}
	return a.printStores(rows, stdout, stderr)
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
	if err := row.open(ctx, m); err != nil {
		row.Error = brief(cause(err))
		return row
	}
	row.Ready = true
	return row
}

// open asks the store's driver. A store without locks is one all the same.
func (row *storeRow) open(ctx context.Context, m *cache.CacheManager) error {
	found, err := m.Store(row.Name)
	if err != nil {
		return err
	}
	r := found.(*cache.CacheRepository)
	announced, err := r.Capabilities(ctx)
	if err != nil {
		return err
	}
	row.Opened = &announced
	start := time.Now()
	if err := r.Ping(ctx); err != nil {
		return err
	}
	row.Answers = time.Since(start).Round(10 * time.Microsecond).String()
	locks, err := r.LockInfo(ctx)
	switch {
	case err == nil:
		row.Locks = &locks
	case !errors.Is(err, errors.ErrUnsupported):
		row.Opened = nil
		return err
	}
	return nil
}

func (a *app) printStores(rows []storeRow, stdout, stderr io.Writer) error {
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	p := a.palette(stdout)
	fmt.Fprintf(w, "STORE\tDRIVER\t%s\tANSWERS IN\tPREFIX\tCODEC\tTIMEOUT\tOPERATIONS\n", p.plain("STATE"))
	for _, row := range rows {
		name := row.Name
		if row.Default {
			name += " *"
		}
		state, operations := p.bad("failed"), ""
		if row.Ready {
			state, operations = p.good("ready"), strings.Join(row.Opened.Operations, " ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, row.Driver, state, dash(row.Answers), dash(row.Prefix), row.Codec, row.Timeout, dash(operations))
	}
	printLocks(w, rows)
	if err := w.Flush(); err != nil {
		return err
	}
	for _, row := range rows {
		if !row.Ready {
			fmt.Fprintf(stderr, "cachewright: store %s: %s\n", row.Name, row.Error)
		}
	}
	return nil
}

// printLocks is the second table: what the locks of the stores are.
func printLocks(w io.Writer, rows []storeRow) {
	fmt.Fprintln(w, "\nSTORE\tLOCK\tSCOPE\tLEASE\tRELEASE\tA TIMEOUT")
	for _, row := range rows {
		switch l := row.Locks; {
		case l != nil:
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", row.Name, l.Strategy, dash(l.Scope), leaseOf(l), releaseOf(l), l.Timeout)
		case row.Ready:
			fmt.Fprintf(w, "%s\tnone\t-\t-\t-\tlock: {strategy: local} locks inside one process\n", row.Name)
		}
	}
}

func leaseOf(l *cache.LockInfo) string {
	if l.Renewed {
		return l.DefaultLease + ", renewed"
	}
	return dash(l.DefaultLease)
}

func releaseOf(l *cache.LockInfo) string {
	if l.OwnerChecked {
		return "owner only"
	}
	return "whoever's it is"
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
