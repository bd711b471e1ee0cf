package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

const (
	// chunk is how many entries one call reads or writes.
	chunk = 200
	// width is how many calls run side by side where each is about one key.
	width = 16
)

func (a *app) export() *cobra.Command {
	return &cobra.Command{
		Use:   "export [PREFIX]",
		Short: "Print the live entries, one JSON line each, for import",
		Long: `Print the live entries whose keys begin with PREFIX, or all, in the order of their keys, one JSON line each:

  {"key":"k","value":{"a":1},"ttl_ms":59000}

value is what is stored, where that is compact JSON; otherwise base64 holds the bytes. ttl_ms is the lifetime left in
milliseconds, and is missing where the entry stays for ever. What expires or is removed meanwhile is left out. An
entry that can't be read is named on stderr, the others are printed, and the exit code is 3.`,
		Example: "  cachewright export > entries.jsonl\n  cachewright -s file export | cachewright -s redis import",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				return a.exportFrom(cmd.Context(), r, strings.Join(args, ""))
			})
		},
	}
}

func (a *app) exportFrom(ctx context.Context, r *cache.CacheRepository, match string) error {
	keys, err := a.sortedKeys(ctx, r, match)
	if err != nil {
		return err
	}
	bar := a.progress("export", len(keys), true)
	defer bar.end()
	unread := 0
	for some := range slices.Chunk(keys, chunk) {
		entries, failed, err := readEntries(ctx, r, some)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := a.printJSON(e); err != nil {
				return err
			}
		}
		if len(failed) > 0 {
			bar.aside()
		}
		for _, key := range slices.Sorted(maps.Keys(failed)) {
			fmt.Fprintf(a.stderr, "cachewright: export %q: %s\n", key, brief(failed[key]))
		}
		unread += len(failed)
		bar.add(len(some))
	}
	if unread > 0 {
		return fmt.Errorf("%d of %d entries could not be read and are missing from the export", unread, len(keys))
	}
	return nil
}

// sortedKeys lists every key once.
func (a *app) sortedKeys(ctx context.Context, r *cache.CacheRepository, match string) ([]string, error) {
	bar := a.progress("list keys", unknown, false)
	defer bar.end()
	var keys []string
	for key, err := range r.Keys(ctx, match) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
		bar.add(1)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// readEntries reads entries in the order of keys, without those that are gone.
// failed are those that can't be read; err is a store that does not answer.
func readEntries(ctx context.Context, r *cache.CacheRepository, keys []string) (entries []entry, failed map[string]error, err error) {
	values, err := r.GetMany(ctx, keys)
	if failed, err = perKey(err); err != nil {
		return nil, nil, err
	}
	ttls := make([]time.Duration, len(keys))
	live := make([]bool, len(keys))
	errs := sideBySide(keys, func(i int, key string) (err error) {
		if values[key].Found() {
			ttls[i], live[i], err = r.TTL(ctx, key)
			ttls[i] = fresh(values[key], ttls[i])
		}
		return err
	})
	for i, key := range keys {
		switch {
		case errs[i] != nil && !errors.Is(errs[i], cache.ErrCorrupt):
			return nil, nil, errs[i]
		case errs[i] != nil:
			failed[key] = errs[i]
		case live[i] && ttls[i] > 0:
			entries = append(entries, entryOf(key, values[key].Bytes(), ttls[i]))
		}
	}
	return entries, failed, nil
}

// fresh is how long a value counts, which the store may keep for longer: what is
// kept for a failing resolver would become a value like others by an import.
func fresh(v cache.Value, kept time.Duration) time.Duration {
	if due, ok := v.Due(); ok {
		return min(kept, time.Until(due))
	}
	return kept
}

// perKey takes the failures of single keys out of a batch's error. A store that
// does not answer at all stays an error.
func perKey(err error) (failed map[string]error, _ error) {
	var batch *cache.BatchError
	if !errors.As(err, &batch) || errors.Is(err, cache.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return map[string]error{}, err
	}
	return batch.Failed, nil
}

// sideBySide runs f for every item, width at a time, and returns what each did.
func sideBySide[T any](items []T, f func(int, T) error) []error {
	errs := make([]error, len(items))
	places := make(chan struct{}, width)
	var wg sync.WaitGroup
	for i, item := range items {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			errs[i] = f(i, item)
		})
	}
	wg.Wait()
	return errs
}
