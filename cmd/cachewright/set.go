package main

import (
	"context"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

func (a *app) set() *cobra.Command {
	return a.writing("set KEY VALUE|-", "Store a JSON value, or what stdin gives for -",
		func(ctx context.Context, r *cache.CacheRepository, key string, value any, ttl time.Duration) error {
			if err := r.Set(ctx, key, value, ttl); err != nil {
				return err
			}
			return a.done("stored")
		})
}

func (a *app) add() *cobra.Command {
	return a.writing("add KEY VALUE|-", "Store a value only where nothing is; exit 1 if something was",
		func(ctx context.Context, r *cache.CacheRepository, key string, value any, ttl time.Duration) error {
			added, err := r.Add(ctx, key, value, ttl)
			if err != nil {
				return err
			}
			return a.say("added", added)
		})
}

func (a *app) replace() *cobra.Command {
	return a.writing("replace KEY VALUE|-", "Overwrite a live entry only; exit 1 if there was none",
		func(ctx context.Context, r *cache.CacheRepository, key string, value any, ttl time.Duration) error {
			replaced, err := r.Replace(ctx, key, value, ttl)
			if err != nil {
				return err
			}
			return a.say("replaced", replaced)
		})
}

func (a *app) writing(use, short string, store func(context.Context, *cache.CacheRepository, string, any, time.Duration) error) *cobra.Command {
	var w write
	return w.flags(&cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				value, r, err := a.value(cmd.Context(), args[1], w.raw, r)
				if err != nil {
					return err
				}
				defer a.remind(cmd.Context(), r)
				return store(cmd.Context(), r, args[0], value, w.ttl.in(a.about))
			})
		},
	})
}
