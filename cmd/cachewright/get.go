package main

import (
	"context"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

func (a *app) get() *cobra.Command {
	return a.reading("get KEY", "Print a value; exit 1 if it is absent", (*cache.CacheRepository).Get)
}

func (a *app) pull() *cobra.Command {
	return a.reading("pull KEY", "Print a value and remove it; exit 1 if it is absent", (*cache.CacheRepository).Pull)
}

func (a *app) reading(use, short string, read func(*cache.CacheRepository, context.Context, string) (cache.Value, error)) *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				v, err := read(r, cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.show(args[0], v, raw)
			})
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the bytes as they are stored, without a newline")
	return cmd
}

func (a *app) getMany() *cobra.Command {
	return &cobra.Command{
		Use:   "get-many KEY...",
		Short: "Print one JSON line for each key; exit 1 if one is absent",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				values, err := r.GetMany(cmd.Context(), args)
				if err != nil {
					return err
				}
				all := true
				for _, key := range args {
					if err := a.printJSON(readingOf(key, values[key])); err != nil {
						return err
					}
					all = all && values[key].Found()
				}
				return answer(all)
			})
		},
	}
}

func (a *app) has() *cobra.Command {
	return &cobra.Command{
		Use:   "has KEY",
		Short: "Print whether a key is there; exit 1 if it is not",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				ok, err := r.Has(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.say("found", ok)
			})
		},
	}
}
