package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

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
		Use:   "get-many KEY...|-",
		Short: "Print one JSON line for each key; exit 1 if one is absent",
		Long: `Print one JSON line for each key, in the order given; exit 1 if one is absent. With - alone, the keys are the lines of
stdin, as keys prints them.`,
		Example: "  cachewright get-many a b c\n  cachewright keys user: | cachewright get-many -",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				keys, err := a.keysOf(cmd.Context(), args)
				if err != nil {
					return err
				}
				return a.printMany(cmd.Context(), r, keys)
			})
		},
	}
}

// keysOf are the arguments, or what stdin lists for a lone "-".
func (a *app) keysOf(ctx context.Context, args []string) ([]string, error) {
	if len(args) != 1 || args[0] != "-" {
		return args, nil
	}
	data, err := interruptible(ctx, func() ([]byte, error) { return io.ReadAll(a.stdin) })
	if err != nil {
		return nil, fmt.Errorf("read the keys from stdin: %w", err)
	}
	var keys []string
	for line := range strings.Lines(string(data)) {
		key := strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(key, `"`) {
			if err := json.Unmarshal([]byte(key), &key); err != nil {
				return nil, usagef("stdin:%d: the key begins with a quotation mark and is no JSON string", len(keys)+1)
			}
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func (a *app) printMany(ctx context.Context, r *cache.CacheRepository, keys []string) error {
	bar := a.progress("get-many", len(keys), true)
	defer bar.end()
	all := true
	for some := range slices.Chunk(keys, chunk) {
		values, err := r.GetMany(ctx, some)
		if err := a.outage.over(err); err != nil {
			return err
		}
		for _, key := range some {
			if err := a.printJSON(a.readingOf(key, values[key])); err != nil {
				return err
			}
			all = all && values[key].Found()
		}
		bar.add(len(some))
	}
	return answer(all)
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
