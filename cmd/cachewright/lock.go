package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

const (
	exitConflict = 75 // the lock was not obtained
	exitLost     = 76 // the lock was lost while the command ran

	fencingVariable = "CACHEWRIGHT_FENCING_TOKEN"
)

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
		Long: `Run a command under a lock, exclusive unless --strategy says otherwise. The exit code is the command's; 75 if the lock
was not obtained, 76 if it was lost while the command ran, which is then stopped. ` + fencingVariable + ` in the
command's environment is the lock's fencing token.`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := f.options(cmd)
			if err != nil {
				return err
			}
			return a.on(cmd.Context(), func(r *cache.CacheRepository) error {
				if err := f.reaches(cmd.Context(), r); err != nil {
					return err
				}
				job := &job{app: a, key: args[0], argv: args[1:], began: time.Now()}
				ctx, end := job.waiting(cmd.Context())
				defer end()
				return job.verdict(r.Lock(args[0], opts...).Do(ctx, job.run), f.conflictCode)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.strategy, "strategy", "exclusive", "exclusive, lease or redlock")
	flags.DurationVar(&f.wait, "wait", 0, "how long to wait for the lock, 0s for one attempt (for ever if left out)")
	flags.DurationVar(&f.lease, "lease", 0, "how long the lock outlives this program (30s if left out)")
	flags.DurationVar(&f.timeout, "timeout", 0, "the one control of the strategies lease and redlock")
	flags.IntVar(&f.conflictCode, "conflict-code", exitConflict, "exit code if the lock was not obtained")
	return cmd
}

// options are the flags that were given.
func (f *lockFlags) options(cmd *cobra.Command) ([]cache.LockOption, error) {
	if f.strategy == "local" {
		return nil, usagef("strategy local reaches one process, and this program is one of its own; take exclusive")
	}
	if cmd.Flags().ArgsLenAtDash() != 1 {
		return nil, usagef("one KEY stands before --, and the command after it; usage: cachewright %s", cmd.Use)
	}
	if f.conflictCode < 0 || f.conflictCode > 255 {
		return nil, usagef("--conflict-code %d is no exit code: give 0 to 255", f.conflictCode)
	}
	opts := []cache.LockOption{cache.LockStrategy(f.strategy)}
	for name, opt := range map[string]cache.LockOption{
		"wait":    cache.LockWait(f.wait),
		"lease":   cache.LockLease(f.lease),
		"timeout": cache.LockTimeout(f.timeout),
	} {
		if cmd.Flags().Changed(name) {
			opts = append(opts, opt)
		}
	}
	return opts, nil
}

// reaches refuses a store whose locks end with this program's own driver.
func (f *lockFlags) reaches(ctx context.Context, r *cache.CacheRepository) error {
	announced, err := r.Capabilities(ctx)
	if err != nil {
		return err
	}
	if announced.LockScope == "process" {
		return usagef("locks of store %s reach one driver process, and every run of this program starts its own; take another store", r.Name())
	}
	return nil
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
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, cancel)
	j.begin = func() error {
		if detach() {
			return nil
		}
		return ctx.Err()
	}
	return waiting, cancel
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

// verdict turns the end of Do into the exit.
func (j *job) verdict(err error, conflictCode int) error {
	switch {
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
