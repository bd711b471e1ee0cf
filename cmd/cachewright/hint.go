package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	cache "github.com/cachewright/cachewright/core"
)

// hint says what to do next about an error; "" where the error says it.
func (a *app) hint(err error) string {
	if _, missing := os.Stat(a.configPath()); errors.Is(err, cache.ErrInvalidConfig) && errors.Is(missing, fs.ErrNotExist) {
		return "cachewright init writes a configuration to start from"
	}
	store, check := "", "config check"
	if failed, ok := errors.AsType[*cache.Error](err); ok && failed.Store != "" {
		store = " -s " + failed.Store
		check = "config check --start" // the file alone did not show it
	}
	if a.asked || errors.Is(err, cache.ErrInvalidOptions) {
		check = "config check --start"
	}
	for _, h := range []struct {
		target error
		text   string
	}{
		{cache.ErrInternal, "the driver broke: --debug shows its log, with the trace; its author wants to know"},
		{cache.ErrMaybeApplied, "nobody knows whether it was done: look with cachewright get before you repeat it"},
		{context.DeadlineExceeded, "--timeout gives the command more time; cachewright doctor looks at what is slow"},
		{cache.ErrInvalidConfig, "mend it, then cachewright " + check + "; docs/configuration.md explains every key"},
		{cache.ErrDriverUnavailable, "--debug shows the driver's log; cachewright doctor" + store + " looks into it"},
		{cache.ErrUnavailable, "cachewright doctor" + store + " looks into it"},
		{cache.ErrOverloaded, "nothing was done; try again in a moment"},
		{cache.ErrInvalidTTL, "give a duration above zero, such as 90s or 24h; without --ttl an entry stays for ever"},
		{cache.ErrInvalidOptions, "change the store's options in the configuration; cachewright drivers --json lists what there is"},
		{cache.ErrNotInteger, "cachewright get shows what is there; cachewright delete makes room for a counter"},
		{cache.ErrOverflow, "the counter is as it was; cachewright set gives it another start"},
		{cache.ErrCorrupt, "cachewright delete removes the entry, cachewright set replaces it"},
		{cache.ErrTooLarge, "cachewright stores --json shows what the store takes, as max_value"},
		{cache.ErrLockTimeout, "somebody else holds it: try again later, or wait longer with --wait"},
		{errors.ErrUnsupported, "cachewright stores lists what each store can do"},
	} {
		if errors.Is(err, h.target) {
			return h.text
		}
	}
	return ""
}
