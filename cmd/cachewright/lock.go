package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

const (
	exitConflict = 75 // the lock was not obtained
	exitLost     = 76 // the lock was lost while the command ran

	fencingVariable = "CACHEWRIGHT_FENCING_TOKEN"
)

// lockStrategies are those that reach further than one process.
var lockStrategies = []string{"exclusive", "lease", "redlock"}

// killAfter is how long a command has to end by itself when its lock is lost;
// tests shorten it.
var killAfter = 10 * time.Second

// lockFlags are the flags of lock.
type lockFlags struct {
	strategy             string
	wait, lease, timeout time.Duration
	conflictCode         int
}

func (a *app) lock() *cobra.Command {
	var f lockFlags
	cmd := &cobra.Command{
		Use:   "lock KEY -- COMMAND [ARGUMENT...]",
		Short: "Run a command under a lock",
		Long: `Run a command under a lock, exclusive unless --strategy or the store's lock block says otherwise. The times that are not
given are those of the lock block. The exit code is the command's; 75 if the lock was not obtained, 76 if it was lost
while the command ran, which is then stopped; 128 and its number if a signal ended the wait. ` + fencingVariable + `
in the command's environment is the lock's fencing token.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				job := &job{app: a, key: args[0], argv: args[1:], began: time.Now()}
				ctx, end := job.waiting(cmd.Context())
				defer end()
				opts, err := f.options(ctx, cmd.Flags().Changed, r)
				if err == nil {
					err = r.Lock(args[0], opts...).Do(ctx, job.run)
				}
				return job.verdict(ctx, err, f.conflictCode)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.strategy, "strategy", "", "exclusive, lease or redlock (the store's lock.strategy, or exclusive, if left out)")
	flags.DurationVar(&f.wait, "wait", 0, "how long to wait for the lock, 0s for one attempt (the store's lock.wait, or for ever, if left out)")
	flags.DurationVar(&f.lease, "lease", 0, "how long the lock outlives this program (the store's lock.lease, or 30s, if left out)")
	flags.DurationVar(&f.timeout, "timeout", 0, "the one control of the strategies lease and redlock (the store's lock.timeout if left out)")
	flags.IntVar(&f.conflictCode, "conflict-code", exitConflict, "exit code if the lock was not obtained")
	return cmd
}

// check finds what is wrong whatever the store is.
func (f *lockFlags) check(cmd *cobra.Command) error {
	switch {
	case f.strategy != "" && f.strategy != "local" && !slices.Contains(lockStrategies, f.strategy):
		return usagef("there is no strategy %q; give exclusive, lease or redlock", f.strategy)
	case f.strategy == "local":
		return usagef("strategy local reaches one process, and this program is one of its own; give exclusive, lease or redlock")
	case cmd.Flags().ArgsLenAtDash() != 1:
		return usagef("one KEY stands before --, and the command after it; usage: cachewright %s", cmd.Use)
	case f.conflictCode < 0 || f.conflictCode > 255:
		return usagef("--conflict-code %d is no exit code: give 0 to 255", f.conflictCode)
	}
	return nil
}

// options are the flags that were given, and what the store's lock block says
// where none was.
func (f *lockFlags) options(ctx context.Context, given func(flag string) bool, r *cache.CacheRepository) ([]cache.LockOption, error) {
	block, announced, err := reaching(ctx, r)
	if err != nil {
		return nil, err
	}
	strategy := cmp.Or(f.strategy, block.Strategy, "exclusive")
	if err := carries(announced, strategy, r.Name()); err != nil {
		return nil, err
	}
	if strategy == "local" {
		return nil, usagef("the lock block of store %s says local, which reaches one process, and this program is one of its own; "+
			"give --strategy, and the programs that share the lock the same", r.Name())
	}
	opts := []cache.LockOption{cache.LockStrategy(strategy)}
	for name, opt := range map[string]cache.LockOption{
		"wait":    cache.LockWait(f.wait),
		"lease":   cache.LockLease(f.lease),
		"timeout": cache.LockTimeout(f.timeout),
	} {
		if given(name) {
			opts = append(opts, opt)
		}
	}
	exclusive, limited := strategy == "exclusive", given("wait") || given("timeout")
	if block.Lease != nil && exclusive && !given("lease") {
		opts = append(opts, cache.LockLease(*block.Lease))
	}
	if block.Wait != nil && exclusive && !limited {
		opts = append(opts, cache.LockWait(*block.Wait))
	}
	if block.Timeout != nil && !limited {
		opts = append(opts, cache.LockTimeout(*block.Timeout))
	}
	return opts, nil
}

// reaching is the lock block of a store whose locks don't end with this
// program's own driver, and what the store can do.
func reaching(ctx context.Context, r *cache.CacheRepository) (cache.LockConfig, cache.Capabilities, error) {
	announced, err := r.Capabilities(ctx)
	if err != nil {
		return cache.LockConfig{}, announced, err
	}
	if announced.LockScope == "process" {
		return cache.LockConfig{}, announced, usagef("locks of store %s reach one driver process, and every run of this program starts its own; take another store", r.Name())
	}
	locks, err := r.LockInfo(ctx)
	if errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, cache.ErrInvalidConfig) {
		return cache.LockConfig{}, announced, nil // the strategy that is asked for decides
	}
	return locks.Block, announced, err
}

// carries is nil where a store has what a strategy needs, and else says which
// strategies it has.
func carries(announced cache.Capabilities, strategy, store string) error {
	needs := map[string]string{"exclusive": "renew-lease", "lease": "lease", "redlock": "add"}
	var has []string
	for _, s := range lockStrategies {
		if announced.Has(needs[s]) {
			has = append(has, s)
		}
	}
	switch {
	case strategy == "local" || slices.Contains(has, strategy):
		return nil
	case len(has) == 0:
		return usagef("store %s has no locks that reach another process; take another store with -s: cachewright stores lists what the locks of each are", store)
	}
	return usagef("store %s has no lock of the strategy %s; give --strategy %s", store, strategy, strings.Join(has, " or "))
}

// A job is a command under the lock.
type job struct {
	app   *app
	key   string
	argv  []string
	began time.Time
	begin func() error // ends the waiting
	ran   bool
	code  int
}

// waiting is ctx for the wait alone. Once the command begins, a signal is for
// the command: it ends this context no more, so that what ends it is the loss of
// the lock.
func (j *job) waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	waiting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	j.begin = func() error {
		if detach() {
			return nil
		}
		return context.Cause(ctx)
	}
	return waiting, func() { cancel(nil) }
}

// run is the block: it runs the command to its end.
func (j *job) run(ctx context.Context) error {
	j.ran = true
	fence, fenced := cache.FencingToken(ctx)
	j.report("acquired", fence)
	cmd := exec.Command(j.argv[0], j.argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = j.app.stdin, j.app.stdout, j.app.stderr
	cmd.Env = os.Environ()
	if fenced {
		cmd.Env = append(cmd.Env, fencingVariable+"="+strconv.FormatUint(fence, 10))
	}
	code, err := supervise(ctx, cmd, j.begin)
	j.code = code
	return err
}

// verdict turns the end of Do into the exit. ctx is that of waiting.
func (j *job) verdict(ctx context.Context, err error, conflictCode int) error {
	stopped, interrupted := errors.AsType[interruption](context.Cause(ctx))
	switch {
	case interrupted && errors.Is(err, context.Canceled):
		return exit{stopped.code(), fmt.Errorf("wait for lock %q: %w", j.key, stopped)}
	case errors.Is(err, cache.ErrLockLost):
		j.report("lost", 0)
		return exit{exitLost, err}
	case errors.Is(err, cache.ErrLockTimeout) && !j.ran:
		j.report("conflict", 0)
		return exit{conflictCode, err}
	case err != nil:
		return err
	}
	j.report("released", 0)
	return exit{j.code, nil}
}

// report is a line of status on stderr, for --json only.
func (j *job) report(event string, fence uint64) {
	if !j.app.json {
		return
	}
	line := map[string]any{"event": event, "key": j.key, "after_ms": time.Since(j.began).Milliseconds()}
	if fence != 0 {
		line["fence"] = fence
	}
	if event == "released" {
		line["exit"] = j.code
	}
	_ = writeJSON(j.app.stderr, line)
}

// An exit is an end with a code of its own; a nil error says nothing.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string { return fmt.Sprint(e.err) }
func (e exit) Unwrap() error { return e.err }
