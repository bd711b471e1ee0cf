package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

func (a *app) configuration() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the configuration, show what it comes to, or print its schema",
		Args:  noSuchCommand,
		RunE: func(*cobra.Command, []string) error {
			return usagef("say what to do; usage: cachewright config check, config show or config schema")
		},
	}
	cmd.AddCommand(a.configCheck(), a.configShow(), a.configSchema())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

// A verified is what config check says in JSON.
type verified struct {
	OK       bool     `json:"ok"`
	Stores   int      `json:"stores"`
	Problems []string `json:"problems"` // FILE:LINE: key: reason
	Unasked  []string `json:"unasked"`  // stores whose options only a driver can check that was not started
	Notes    []string `json:"notes"`    // what may be meant, and may be a mistake
}

func (a *app) configCheck() *cobra.Command {
	var start bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Name every fault of the configuration at once; exit 2 if there is one",
		Long: `Name every fault of the configuration at once, each by file and line; exit 2 if there is one. Nothing is started and
no server is asked: see doctor for that. --start starts the drivers and opens the stores, still without a server, for
what only a driver can tell: the options of a program of its own, options that exclude each other, locks that a store
does not have. A codec that this program does not have is noted: the application may have it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := a.verify(cmd.Context(), start)
			if a.json && cmd.Context().Err() == nil {
				return errors.Join(a.printJSON(v), answered(err))
			}
			if err != nil {
				return err
			}
			return a.printVerified(v)
		},
	}
	cmd.Flags().BoolVar(&start, "start", false, "start the drivers and open the stores, to check what only they know")
	return a.timed(cmd)
}

// answered is an error whose text is shown already.
func answered(err error) error {
	if err == nil {
		return nil
	}
	return exit{code: exitCode(err)}
}

func (a *app) verify(ctx context.Context, start bool) (verified, error) {
	v := verified{OK: true, Problems: []string{}, Unasked: []string{}, Notes: []string{}}
	a.asked = start
	err := a.onAll(ctx, func(m *cache.CacheManager) error {
		v.Stores = len(m.Stores())
		v.Notes = foreignCodecs(m.Stores())
		if start {
			return m.CheckOptions(ctx)
		}
		v.Unasked = storesOfPrograms(m)
		return nil
	})
	if err != nil {
		v.OK, v.Problems = false, strings.Split(brief(err), "\n")
		err = usageError{err}
	}
	return v, err
}

// storesOfPrograms are those whose options are not linked into this program.
func storesOfPrograms(m *cache.CacheManager) []string {
	stores := []string{}
	for _, d := range m.Drivers() {
		if d.Run == "command" {
			stores = append(stores, d.Stores...)
		}
	}
	return stores
}

func (a *app) printVerified(v verified) error {
	text := fmt.Sprintf("%s: %s, %s", a.configPath(), a.palette(a.stdout).good("no faults"), counted(v.Stores, "store"))
	if len(v.Unasked) > 0 {
		text += fmt.Sprintf("; the options of %s are its driver's to check: config check --start", strings.Join(v.Unasked, ", "))
	}
	for _, note := range v.Notes {
		text += "\nnote: " + note
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func (a *app) configShow() *cobra.Command {
	var start bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show every value that counts and where it comes from; secrets stay hidden",
		Long: `Show every value that counts, files, environment and defaults together, and where it comes from: a line of a file, a
variable, or the default. Secrets stay hidden, and so do the options of drivers that are programs of their own, since
only the driver knows which of them are secrets; --start starts it and asks. Of a driver's command, references to
variables are shown and not what they stand for. -s STORE shows one store.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.onAll(cmd.Context(), func(m *cache.CacheManager) error {
				if _, err := m.Store(a.store); err != nil {
					return err
				}
				settings, err := m.Settings(cmd.Context(), start)
				if err != nil {
					return err
				}
				return a.printSettings(a.ofStore(settings))
			})
		},
	}
	cmd.Flags().BoolVar(&start, "start", false, "start the drivers that are programs, to learn their options")
	return a.timed(cmd)
}

// ofStore keeps what is about the store of -s.
func (a *app) ofStore(settings []cache.Setting) []cache.Setting {
	if a.store == "" {
		return settings
	}
	var kept []cache.Setting
	for _, s := range settings {
		if strings.HasPrefix(s.Key, "stores."+a.store+".") {
			kept = append(kept, s)
		}
	}
	return kept
}

func (a *app) printSettings(settings []cache.Setting) error {
	if a.json {
		return a.printJSON(settings)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tVALUE\tFROM")
	for _, s := range settings {
		value := s.Value
		switch {
		case s.Hidden:
			value = "(hidden)"
		case value == "":
			value = `""`
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Key, value, s.From)
	}
	return w.Flush()
}

func (a *app) configSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration, for editors",
		Long: `Print the JSON Schema (2020-12) of the configuration with the options of the built-in drivers, for editors that
complete and check YAML by one. With the YAML language server, write it to a file and name that in the first line of
the configuration:

  # yaml-language-server: $schema=cachewright.schema.json`,
		Example: "  cachewright config schema > cachewright.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return writeIndented(a.stdout, configurationSchema())
		},
	}
}
