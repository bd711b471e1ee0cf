package main

import (
	"context"
	"strconv"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

func (a *app) incr() *cobra.Command {
	return a.counting("incr KEY [DELTA]", "Add to an integer and print the sum", (*cache.CacheRepository).Increment)
}

func (a *app) decr() *cobra.Command {
	return a.counting("decr KEY [DELTA]", "Subtract from an integer and print the difference", (*cache.CacheRepository).Decrement)
}

func (a *app) counting(use, short string, step func(*cache.CacheRepository, context.Context, string, int64, ...cache.CounterOption) (int64, error)) *cobra.Command {
	var ttl lifetime
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long:  short + ". DELTA is 1 if left out; a negative one follows --. An absent counter\nstarts from 0, and only then --ttl counts.",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			delta, err := deltaOf(args[1:])
			if err != nil {
				return err
			}
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				defer a.remind(cmd.Context(), r)
				sum, err := step(r, cmd.Context(), args[0], delta, cache.InitialTTL(ttl.in(a.about)))
				if err != nil {
					return err
				}
				return a.print("value", sum)
			})
		},
	}
	ttl.flag(cmd)
	return cmd
}

func deltaOf(args []string) (int64, error) {
	if len(args) == 0 {
		return 1, nil
	}
	delta, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return 0, usagef("DELTA %q is not a whole number within 64 bits", args[0])
	}
	return delta, nil
}
