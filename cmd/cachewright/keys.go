package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

func (a *app) keys() *cobra.Command {
	return &cobra.Command{
		Use:   "keys [PREFIX]",
		Short: "Print the live keys, one a line",
		Long: `Print the live keys that begin with PREFIX, or all, one a line and in no order. A key with control characters, or one
that begins with a quotation mark, is printed as a JSON string, which get-many - takes.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			match := strings.Join(args, "")
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				bar := a.progress("keys", unknown, true)
				defer bar.end()
				for key, err := range r.Keys(cmd.Context(), match) {
					if err != nil {
						return err
					}
					if err := a.printKey(key); err != nil {
						return err
					}
					bar.add(1)
				}
				return nil
			})
		},
	}
}

func (a *app) printKey(key string) error {
	if a.json {
		return a.printJSON(key)
	}
	if strings.HasPrefix(key, `"`) || strings.ContainsFunc(key, unicode.IsControl) {
		quoted, err := json.Marshal(key)
		if err != nil {
			return err
		}
		key = string(quoted)
	}
	_, err := fmt.Fprintln(a.stdout, key)
	return err
}

func (a *app) ttl() *cobra.Command {
	return &cobra.Command{
		Use:   "ttl KEY",
		Short: "Print how long an entry will live; exit 1 if it is absent",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				ttl, ok, err := r.TTL(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if !ok && a.json {
					return errors.Join(a.printJSON(map[string]any{"ttl": nil}), errNo)
				}
				if !ok {
					return errNo
				}
				return a.print("ttl", lifetimeText(ttl))
			})
		},
	}
}

func lifetimeText(ttl time.Duration) string {
	if ttl == cache.Forever {
		return "forever"
	}
	return ttl.Round(time.Millisecond).String()
}

func (a *app) touch() *cobra.Command {
	var ttl lifetime
	cmd := &cobra.Command{
		Use:   "touch KEY",
		Short: "Give an entry a new lifetime; exit 1 if it is absent",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				if !ttl.given && !a.about.defaultTTL {
					return usagef("store %s has no default_ttl; give --ttl, such as --ttl 10m, or --ttl forever to let the entry stay", r.Name())
				}
				touched, err := r.Touch(cmd.Context(), args[0], ttl.in(a.about))
				if err != nil {
					return err
				}
				return a.say("touched", touched)
			})
		},
	}
	cmd.Flags().Var(&ttl, "ttl", "how long the entry lives from now on, such as 90s, or forever (left out, the store's default_ttl; required without one)")
	return cmd
}
