package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

//go:embed starter.yaml
var starter []byte

func (a *app) initialize() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented configuration to start from",
		Long: `Write a commented configuration to start from: config.yaml, or the file of -c or CACHEWRIGHT_CONFIG. It works as it
stands, with a store of files below its folder. A file that is there stays as it is, unless --force.`,
		Example: "  cachewright init\n  cachewright -c caches.yaml init",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if len(a.config) > 1 {
				return usagef("init writes one file; give -c once")
			}
			path := a.configPath()
			if err := writeStarter(path, force); err != nil {
				return err
			}
			if a.json {
				return a.print("wrote", path)
			}
			_, err := fmt.Fprintf(a.stdout, "wrote %s; it works as it stands: cachewright set greeting '\"hello\"'\n", path)
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace a file that is there")
	return cmd
}

// configPath is the first file that the configuration would be read from.
func (a *app) configPath() string {
	if len(a.config) > 0 {
		return a.config[0]
	}
	if named := filepath.SplitList(os.Getenv("CACHEWRIGHT_CONFIG")); len(named) > 0 {
		return named[0]
	}
	return "config.yaml"
}

// writeStarter never leaves half a file: it is written beside its place, and
// put there at once.
func writeStarter(path string, force bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".cachewright-init-*")
	if err != nil {
		return usagef("%w; name a file in a folder that is there and writable", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(starter)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if force {
		return os.Rename(f.Name(), path)
	}
	err = os.Link(f.Name(), path) // which replaces nothing
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s is there already and was left as it is; --force replaces it, -c names another file", path)
	}
	return err
}
