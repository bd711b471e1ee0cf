package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

// timed gives a command that calls a store the flag --timeout.
func (a *app) timed(cmd *cobra.Command) *cobra.Command {
	var timeout time.Duration
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long the command may take (each call the store's timeout, if left out)")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("timeout") {
			return run(cmd, args)
		}
		if timeout <= 0 {
			return usagef("--timeout %v leaves no time; give a duration such as 30s", timeout)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		cmd.SetContext(ctx)
		return run(cmd, args)
	}
	return cmd
}
