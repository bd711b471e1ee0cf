package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func (a *app) man() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a folder",
		Long: `Write the manual pages, one a command, into a folder, which is made if need be. SOURCE_DATE_EPOCH is their date, where
a build is to be repeatable.`,
		Example: "  cachewright man ~/.local/share/man/man1",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			date, err := manDate()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usagef("%w; name a folder that can be written to", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := &doc.GenManHeader{Title: "CACHEWRIGHT", Section: "1", Source: "Cachewright", Manual: "Cachewright", Date: date}
			if err := doc.GenManTree(root, header, args[0]); err != nil {
				return fmt.Errorf("write the manual pages: %w", err)
			}
			if a.json {
				return a.print("wrote", args[0])
			}
			_, err = fmt.Fprintf(a.stdout, "wrote %s; man -l %s shows the first\n", args[0], filepath.Join(args[0], "cachewright.1"))
			return err
		},
	}
}

func manDate() (*time.Time, error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return new(time.Now()), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, usagef("SOURCE_DATE_EPOCH is no number of seconds since 1970")
	}
	return new(time.Unix(seconds, 0).UTC()), nil
}
