package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

const (
	// completionTime is how long a shell waits for keys, and for the end of
	// the driver that listed them.
	completionTime = time.Second
	// completionKeys is how many keys it is offered.
	completionKeys = 100
)

// everyArgument is a command whose arguments are all keys.
const everyArgument = -1

// keyArguments are how many arguments of a command are keys, from the first.
var keyArguments = map[string]int{
	"get": 1, "set": 1, "add": 1, "replace": 1, "has": 1, "pull": 1, "incr": 1, "decr": 1, "ttl": 1, "touch": 1,
	"lock": 1, "keys": 1, "export": 1, "get-many": everyArgument, "delete": everyArgument,
}

// completions tells shells what may stand where.
func (a *app) completions(root *cobra.Command) {
	must(root.MarkPersistentFlagFilename("config", "yaml", "yml"))
	must(root.RegisterFlagCompletionFunc("store", a.completeStores))
	must(root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(a.color.words, cobra.ShellCompDirectiveNoFileComp)))
	for _, cmd := range allCommands(root) {
		if cmd.Flags().Lookup("dir") != nil {
			must(cmd.MarkFlagDirname("dir"))
		}
		if cmd.Flags().Lookup("strategy") != nil {
			must(cmd.RegisterFlagCompletionFunc("strategy", cobra.FixedCompletions(lockStrategies, cobra.ShellCompDirectiveNoFileComp)))
		}
		for _, flag := range []string{"ttl", "timeout", "wait", "lease", "watch", "time"} {
			if cmd.Flags().Lookup(flag) != nil {
				must(cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions))
			}
		}
		switch n, takesKeys := keyArguments[cmd.Name()]; {
		case takesKeys:
			cmd.ValidArgsFunction = a.completeKeys(n)
		case cmd.Name() == "man":
			cmd.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		case cmd.Name() == "import":
			cmd.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
		default:
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// must is for what only a mistake in this program can make fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func allCommands(cmd *cobra.Command) []*cobra.Command {
	all := slices.Clone(cmd.Commands())
	for _, sub := range cmd.Commands() {
		all = append(all, allCommands(sub)...)
	}
	return all
}

func (a *app) completeStores(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	a.whileCompleting(cmd, func(_ context.Context, m *cache.CacheManager) {
		for _, s := range m.Stores() {
			if strings.HasPrefix(s.Name, typed) {
				names = append(names, cobra.CompletionWithDesc(s.Name, "driver "+s.Driver))
			}
		}
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeKeys offers keys for the first n arguments.
func (a *app) completeKeys(n int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if cmd.Name() == "lock" && len(args) >= n {
			return nil, cobra.ShellCompDirectiveDefault // a command follows
		}
		if n != everyArgument && len(args) >= n {
			return nil, directive
		}
		var keys []string
		a.whileCompleting(cmd, func(ctx context.Context, m *cache.CacheManager) {
			if r, err := m.Store(a.store); err == nil {
				keys = someKeys(ctx, r.(*cache.CacheRepository), typed, args)
			}
		})
		return keys, directive
	}
}

// someKeys lists the first plain keys; those that were typed already are no help.
// What a store can't tell, nobody misses here.
func someKeys(ctx context.Context, r *cache.CacheRepository, typed string, given []string) []string {
	var keys []string
	for key, err := range r.Keys(ctx, typed) {
		if err != nil || len(keys) == completionKeys {
			break
		}
		if isPlain(key) && !slices.Contains(given, key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// isPlain tells keys that every shell takes for what they are. Bash puts what
// several candidates have in common into the line as it is, and runs the line at
// the next attempt: a key with $(…) in it, whoever wrote it, would be run too.
func isPlain(key string) bool {
	for i, r := range key {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("_./", r):
		case i > 0 && strings.ContainsRune("-:@%+=,", r):
		default:
			return false
		}
	}
	return true
}

// whileCompleting opens the configuration for a moment, and is silent about
// everything that goes wrong: a shell that completes is no place for errors.
func (a *app) whileCompleting(cmd *cobra.Command, f func(context.Context, *cache.CacheManager)) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	quiet := app{stderr: io.Discard}
	m, err := a.openWith(ctx, cache.WithLogger(quiet.logger()))
	if err != nil {
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), completionTime)
		defer cancel()
		_ = m.Close(ctx) // silent, as all of this
	}()
	f(ctx, m)
}
