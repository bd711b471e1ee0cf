package main

import (
	"errors"
	"log/slog"

	"github.com/cachewright/cachewright/internal/demo"
	"github.com/spf13/cobra"
)

func (a *app) demo() *cobra.Command {
	var o demo.Options
	cmd := &cobra.Command{
		Use:   "demo [--metrics [ADDRESS]]",
		Short: "Let 200 callers ask for a summary of a directory tree, and kill a driver meanwhile",
		Long: "Let 200 callers at once ask for a summary of a directory tree, through the file store and then the memory\n" +
			"store, and kill the file driver's process while callers read and count. Needs no configuration.\n\n" +
			"--metrics serves OpenTelemetry's metrics meanwhile, in Prometheus' format and on this machine only;\n" +
			"dashboards/cachewright.json shows them in Grafana.",
		Example: "  cachewright demo --metrics=127.0.0.1:9464 --keep",
		Args:    addressBehindMetrics,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 { // --metrics ADDRESS, with a blank
				o.Metrics = args[0]
			}
			switch {
			case o.Keep && o.Metrics == "":
				return usagef("--keep goes with --metrics")
			case a.json:
				return usagef("demo tells people what happens, and has no --json; --metrics serves its numbers")
			}
			err := demo.Run(cmd.Context(), o, a.stdout, a.logger())
			if argument, ok := errors.AsType[demo.ArgumentError](err); ok {
				return usageError{argument}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", ".", "the tree to summarize")
	cmd.Flags().StringVar(&o.Metrics, "metrics", "", "serve metrics at `address`, or at a free port of 127.0.0.1")
	cmd.Flags().Lookup("metrics").NoOptDefVal = "127.0.0.1:0"
	cmd.Flags().BoolVar(&o.Keep, "keep", false, "with --metrics: go on serving when all is done, until interrupted")
	return cmd
}

// addressBehindMetrics takes the address behind a blank too.
func addressBehindMetrics(cmd *cobra.Command, args []string) error {
	if cmd.Flags().Changed("metrics") && len(args) == 1 {
		return nil
	}
	return cobra.NoArgs(cmd, args)
}

// logger is silent unless --debug asks for the log.
func (a *app) logger() *slog.Logger {
	level := slog.LevelError + 1
	if a.debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}
