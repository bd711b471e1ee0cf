package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	cache "github.com/cachewright/cachewright/core"
	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitYes    = 0
	exitNo     = 1   // absent, or false
	exitUsage  = 2   // usage or configuration
	exitFailed = 3   // a store or a driver failed
	exitPipe   = 141 // whoever read stdout has left; as a shell shows a death by SIGPIPE
)

// closeTimeout bounds the end of every command.
const closeTimeout = 10 * time.Second

// errNo is the answer no: exit code 1, and nothing to say.
var errNo = errors.New("no")

// A usageError is the caller's to mend.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// An app is one invocation.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	config string
	store  string
	json   bool
	debug  bool
}

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var ended exit
	if errors.As(err, &ended) && ended.err == nil {
		return ended.code
	}
	if err != nil && !errors.Is(err, errNo) && !errors.Is(err, syscall.EPIPE) {
		fmt.Fprintln(stderr, "cachewright:", strings.TrimPrefix(err.Error(), "cache: "))
	}
	return exitCode(err)
}

func exitCode(err error) int {
	var usage usageError
	var ended exit
	switch {
	case err == nil:
		return exitYes
	case errors.As(err, &ended):
		return ended.code
	case errors.Is(err, errNo):
		return exitNo
	case errors.As(err, &usage), isUsage(err):
		return exitUsage
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	}
	return exitFailed
}

// isUsage tells errors that only other arguments or another configuration mend.
func isUsage(err error) bool {
	for _, target := range []error{cache.ErrInvalidConfig, cache.ErrInvalidOptions, cache.ErrUnknownStore, cache.ErrInvalidKey, cache.ErrInvalidTTL, cache.ErrInvalidLockOption} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "cachewright",
		Short:         "Read, write and watch the stores of a Cachewright configuration",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("a command is missing; cachewright --help lists them")
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	flags := root.PersistentFlags()
	flags.StringVarP(&a.config, "config", "c", "", "configuration file (default $CACHEWRIGHT_CONFIG, else config.yaml)")
	flags.StringVarP(&a.store, "store", "s", "", "store (default: the configuration's default)")
	flags.BoolVar(&a.json, "json", false, "answer in JSON")
	flags.BoolVar(&a.debug, "debug", false, "show the drivers' log on stderr")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		a.get(), a.set(), a.add(), a.replace(), a.has(), a.delete(), a.pull(),
		a.incr(), a.decr(), a.getMany(), a.clear(), a.keys(), a.ttl(), a.touch(),
		a.lock(), a.stores(), a.drivers(), a.doctor(), a.demo(), a.bench(), a.version(),
	)
	for _, cmd := range root.Commands() {
		cmd.Args = usageArgs(cmd.Args)
	}
	return root
}

// noSuchCommand names the commands that may have been meant.
func noSuchCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("there is no command %q; did you mean %s?", args[0], strings.Join(near, ", "))
	}
	return usagef("there is no command %q; cachewright --help lists them", args[0])
}

// flagError says what to do about a value that was taken for a flag.
func flagError(cmd *cobra.Command, err error) error {
	if strings.Contains(err.Error(), "unknown shorthand flag") {
		return usagef("%w; a value that starts with a minus follows --: cachewright %s KEY -- -5", err, cmd.Name())
	}
	return usagef("%w; cachewright %s --help lists the flags", err, cmd.Name())
}

func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%w; usage: cachewright %s", err, cmd.Use)
		}
		return nil
	}
}

// open opens the manager of the configuration. close is always to be called.
func (a *app) open(ctx context.Context) (m *cache.CacheManager, close func(), err error) {
	m, err = cache.Open(ctx, a.config, cache.WithLogger(a.logger()))
	if err != nil {
		return nil, func() {}, err
	}
	return m, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			fmt.Fprintln(a.stderr, "cachewright:", err)
		}
	}, nil
}

// on runs f on the chosen store.
func (a *app) on(ctx context.Context, f func(*cache.CacheRepository) error) error {
	return a.onAll(ctx, func(m *cache.CacheManager) error {
		r, err := m.Store(a.store)
		if err != nil {
			return err
		}
		return f(r.(*cache.CacheRepository))
	})
}

// onAll runs f on the manager of the configuration, and closes that.
func (a *app) onAll(ctx context.Context, f func(*cache.CacheManager) error) error {
	m, closeAll, err := a.open(ctx)
	defer closeAll()
	if err != nil {
		return err
	}
	return f(m)
}
