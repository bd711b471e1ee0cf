package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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

const (
	// closeTimeout bounds the end of every command.
	closeTimeout = 10 * time.Second
	// hurriedClose bounds it where the command's time is up, or a driver has not
	// answered in time: nobody waits for more of the same.
	hurriedClose = time.Second
)

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

	config []string // files, each laid over those before it
	store  string
	color  choice
	outage outage
	about  aboutStore // -s
	asked  bool       // the drivers were, by config check --start
	json   bool
	debug  bool
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{stdin: stdin, stdout: stdout, stderr: stderr, color: choiceOf("auto", "always", "never")}
}

// run is the whole program but for the process around it.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(stdin, stdout, stderr)
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.json = a.json || asksForJSON(args) // a flag that is wrong ends the reading of flags
	var ended exit
	if errors.As(err, &ended) && ended.err == nil {
		return ended.code
	}
	var heard interruption
	if errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &heard) {
		a.complain(exit{heard.code(), heard})
		return heard.code()
	}
	if err != nil && !errors.Is(err, errNo) && !errors.Is(err, syscall.EPIPE) {
		a.complain(err)
	}
	return exitCode(err)
}

// asksForJSON finds --json among flags that were not all read.
func asksForJSON(args []string) bool {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return slices.Contains(args[:end], "--json")
}

// A complaint is an error as --json shows it, on stderr.
type complaint struct {
	Error string `json:"error"`
	Next  string `json:"next,omitempty"` // what to do
	Exit  int    `json:"exit"`
}

// complain says what failed and what to do next.
func (a *app) complain(err error) {
	if a.json {
		_ = writeJSON(a.stderr, complaint{brief(err), a.hint(err), exitCode(err)})
		return
	}
	p := a.palette(a.stderr)
	text := brief(err)
	if faults := strings.Count(text, "\n") + 1; faults > 1 && errors.Is(err, cache.ErrInvalidConfig) {
		text = fmt.Sprintf("the configuration has %d faults:\n%s", faults, text)
	}
	fmt.Fprintln(a.stderr, p.bad("cachewright:"), text)
	if next := a.hint(err); next != "" {
		fmt.Fprintln(a.stderr, p.bold("next:"), next)
	}
}

// brief is the text of an error without the package's name, which says nothing
// here.
func brief(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "cache: ")
	}
	return strings.Join(lines, "\n")
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
	case errors.As(err, &usage), isUsage(err) && !outOfTime(err):
		return exitUsage
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	}
	return exitFailed
}

// outOfTime tells what was cut off, whatever it was about.
func outOfTime(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// isUsage tells errors that only other arguments or another configuration mend:
// trying again is of no use.
func isUsage(err error) bool {
	for _, target := range []error{
		cache.ErrInvalidConfig, cache.ErrInvalidOptions, cache.ErrUnknownStore, cache.ErrInvalidKey, cache.ErrInvalidTTL, cache.ErrInvalidLockOption,
		cache.ErrTooLarge, cache.ErrNotInteger, cache.ErrOverflow, cache.ErrWrongType, errors.ErrUnsupported,
	} {
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
	root.Version = versionText()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	flags := root.PersistentFlags()
	flags.StringArrayVarP(&a.config, "config", "c", nil, "configuration `file`; again for one that is laid over it (default $CACHEWRIGHT_CONFIG, else config.yaml)")
	flags.StringVarP(&a.store, "store", "s", "", "`name` of the store (default: the configuration's default)")
	flags.BoolVar(&a.json, "json", false, "answer in JSON")
	flags.Var(&a.color, "color", "when to paint words; auto: on a terminal, unless NO_COLOR is set")
	flags.BoolVar(&a.debug, "debug", false, "show the drivers' log on stderr")
	root.SetFlagErrorFunc(flagError)
	a.commands(root)
	for _, cmd := range root.Commands() {
		cmd.Args = usageArgs(cmd.Args)
	}
	a.completions(root)
	explainHelp(root)
	return root
}

// explainHelp makes the help of a command that there isn't an error.
func explainHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	must(err)
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return noSuchCommand(cmd, rest)
		}
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}
}

// commands adds them in groups. lock has a --timeout of its own, and so takes
// none here.
func (a *app) commands(root *cobra.Command) {
	for _, group := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Entries", []*cobra.Command{
			a.timed(a.get()), a.timed(a.getMany()), a.timed(a.has()), a.timed(a.set()), a.timed(a.add()), a.timed(a.replace()),
			a.timed(a.delete()), a.timed(a.pull()), a.timed(a.incr()), a.timed(a.decr()), a.timed(a.ttl()), a.timed(a.touch()),
		}},
		{"Stores as a whole", []*cobra.Command{
			a.timed(a.keys()), a.timed(a.clear()), a.timed(a.export()), a.timed(a.importing()), a.timed(a.stores()), a.timed(a.drivers()),
		}},
		{"Locks", []*cobra.Command{a.lock(), a.bench()}},
		{"Configuration", []*cobra.Command{a.initialize(), a.configuration(), a.timed(a.doctor())}},
		{"Other", []*cobra.Command{a.demo(), a.version(), a.man()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, cmd := range group.commands {
			cmd.GroupID = group.title
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID("Other")
	root.SetCompletionCommandGroupID("Other")
}

// noSuchCommand names the commands that may have been meant.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("there is no command %q; did you mean %s?", args[0], strings.Join(near, ", "))
	}
	return usagef("there is no command %q; %s --help lists them", args[0], cmd.CommandPath())
}

// flagError says what to do about a value that was taken for a flag.
func flagError(cmd *cobra.Command, err error) error {
	if strings.Contains(err.Error(), "unknown shorthand flag") {
		return usagef("%w; a value that starts with a minus follows --: %s KEY -- -5", err, cmd.CommandPath())
	}
	if strings.Contains(err.Error(), "time: ") { // which knows no days
		return usagef("%w; a duration has a unit, such as 90s or 24h (units are h, m, s and ms)", err)
	}
	return usagef("%w; %s --help lists the flags", err, cmd.CommandPath())
}

func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var complete usageError
		switch {
		case errors.As(err, &complete):
			return err
		case err != nil:
			return usagef("%s; usage: %s", argumentsText(err, args), usageOf(cmd))
		}
		return nil
	}
}

// argumentsText says what is wrong with arguments; cobra's own count of them is
// no sentence.
func argumentsText(err error, args []string) string {
	if strings.Contains(err.Error(), "arg(s)") {
		return counted(len(args), "argument") + " given"
	}
	return err.Error()
}

// usageOf is the full name of a command with its arguments.
func usageOf(cmd *cobra.Command) string {
	_, args, _ := strings.Cut(cmd.Use, " ")
	return strings.TrimSpace(cmd.CommandPath() + " " + args)
}

// close ends m after a command that ended with failure. One that ran out of time
// has said so, and what doesn't end in time then is killed without a word.
func (a *app) close(ctx context.Context, m *cache.CacheManager, failure error) {
	late := ctx.Err() != nil || errors.Is(failure, context.DeadlineExceeded)
	timeout := closeTimeout
	if late {
		timeout = hurriedClose
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if err := m.Close(ctx); err != nil && !late {
		fmt.Fprintln(a.stderr, "cachewright:", err)
	}
}

// openWith opens the files of -c, or those that the environment names. Codecs of
// applications aren't here, and their stores are still to be looked at.
func (a *app) openWith(ctx context.Context, opts ...cache.Option) (*cache.CacheManager, error) {
	first := ""
	opts = append(opts, cache.WithForeignCodecs())
	for i, file := range a.config {
		if i == 0 {
			first = file
			continue
		}
		opts = append(opts, cache.WithFile(file))
	}
	return cache.Open(ctx, first, opts...)
}

// on runs f on the chosen store. A store with on_error: miss hides outages from
// an application; here somebody wants to know.
func (a *app) on(ctx context.Context, f func(*cache.CacheRepository) error) error {
	return a.onAll(ctx, func(m *cache.CacheManager) error {
		r, err := m.Store(a.store)
		if err != nil {
			return err
		}
		if err := a.learn(ctx, m, r.Name()); err != nil {
			return err
		}
		return a.outage.over(f(r.(*cache.CacheRepository)))
	})
}

// onAll runs f on the manager of the configuration, and closes that.
func (a *app) onAll(ctx context.Context, f func(*cache.CacheManager) error) (err error) {
	m, err := a.openWith(ctx, cache.WithLogger(a.logger()), cache.WithHook(&a.outage))
	if err != nil {
		return err
	}
	defer func() { a.close(ctx, m, err) }()
	return f(m)
}
