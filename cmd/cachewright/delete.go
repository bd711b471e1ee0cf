package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (a *app) delete() *cobra.Command {
	return &cobra.Command{
		Use:   "delete KEY...",
		Short: "Remove entries and print how many were there; exit 1 if none was",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				existed, err := r.DeleteMany(cmd.Context(), args)
				if err != nil {
					return err
				}
				if err := a.print("deleted", existed); err != nil {
					return err
				}
				return answer(existed > 0)
			})
		},
	}
}

func (a *app) clear() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Remove everything that belongs to the store's prefix",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				if !yes {
					if err := a.confirm(cmd.Context(), fmt.Sprintf("Remove all entries of store %s?", r.Name())); err != nil {
						return err
					}
				}
				bar := a.progress("clear", unknown, false)
				defer bar.end()
				if err := r.Clear(cmd.Context()); err != nil {
					return err
				}
				return a.done("cleared")
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirm asks on a terminal; elsewhere there is nobody to ask.
func (a *app) confirm(ctx context.Context, question string) error {
	stdin, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(stdin.Fd())) {
		return usagef("there is no terminal to ask on; clear needs --yes")
	}
	fmt.Fprint(a.stderr, question+" [y/N] ")
	line, err := interruptible(ctx, func() (string, error) { return bufio.NewReader(stdin).ReadString('\n') })
	if ctx.Err() != nil {
		fmt.Fprintln(a.stderr)
		return err
	}
	if word := strings.ToLower(strings.TrimSpace(line)); word != "y" && word != "yes" {
		fmt.Fprintln(a.stderr, "Nothing was removed.")
		return errNo
	}
	return nil
}
