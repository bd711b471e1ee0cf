package main

import (
	"log/slog"

	"github.com/cachewright/cachewright/internal/demo"
	"github.com/spf13/cobra"
)

func (a *app) demo() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Let 200 callers ask for a summary of a directory tree, and kill a driver meanwhile",
		Long: "Let 200 callers at once ask for a summary of a directory tree, through the file store and then the memory\n" +
			"store, and kill the file driver's process while callers read and count. Needs no configuration.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo.Run(cmd.Context(), dir, a.stdout, a.logger())
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "the tree to summarize")
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
