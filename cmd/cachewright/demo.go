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
		Use:   "demo",
		Short: "Let 200 callers ask for a summary of a directory tree, and kill a driver meanwhile",
		Long: "Let 200 callers at once ask for a summary of a directory tree, through the file store and then the memory\n" +
			"store, and kill the file driver's process while callers read and count. Needs no configuration.\n\n" +
			"--metrics serves OpenTelemetry's metrics meanwhile, in Prometheus' format and on this machine only;\n" +
			"dashboards/cachewright.json shows them in Grafana.",
		Example: "  cachewright demo --metrics=127.0.0.1:9464 --keep",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Keep && o.Metrics == "" {
				return errors.New("--keep goes with --metrics")
			}
			return demo.Run(cmd.Context(), o, a.stdout, a.logger())
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", ".", "the tree to summarize")
	cmd.Flags().StringVar(&o.Metrics, "metrics", "", "serve metrics at `address`, or at a free port of 127.0.0.1")
	cmd.Flags().Lookup("metrics").NoOptDefVal = "127.0.0.1:0"
	cmd.Flags().BoolVar(&o.Keep, "keep", false, "with --metrics: go on serving when all is done, until interrupted")
	return cmd
}

// logger is silent unless --debug asks for the log.
func (a *app) logger() *slog.Logger {
	level := slog.LevelError + 1
	if a.debug {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}
