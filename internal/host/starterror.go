package host

import (
	"fmt"
	"strings"

	"github.com/cachewright/cachewright/internal/wire"
)

// A Stage is how far the start of a driver process came.
type Stage string

const (
	StagePrepare   Stage = "prepare"   // find and check the program, make its private folder
	StageExec      Stage = "exec"      // have the system execute it
	StageHandshake Stage = "handshake" // wait for its handshake line and connect
	StageDescribe  Stage = "describe"  // ask it what it is
)

// A StartError says why a driver process did not start. It matches
// wire.ErrDriverUnavailable: nothing reached a store.
type StartError struct {
	Driver     string   // as configuration calls it
	Command    string   // the program and its arguments, as Spec.Spelled has them
	Stage      Stage    // where it failed
	ExitStatus string   // "exit status 3", "signal: killed"; empty if the process did not end by itself
	Stderr     []string // the last lines that it printed, at most 50; those of stdout begin with "stdout: "
	Err        error
}

// quotedLines is how many of the last lines stand in the error's text.
const quotedLines = 10

func (e *StartError) Error() string { return "driver " + e.Driver + ": " + e.text() }

func (e *StartError) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "start of %s failed (%s): %v", e.Command, e.Stage, e.Err)
	if e.ExitStatus != "" {
		fmt.Fprintf(&b, "; it ended with %s", e.ExitStatus)
	}
	if len(e.Stderr) == 0 {
		return b.String()
	}
	last := e.Stderr[max(0, len(e.Stderr)-quotedLines):]
	fmt.Fprintf(&b, "; its last lines:")
	for _, line := range last {
		b.WriteString("\n\t" + line)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Is matches wire.ErrDriverUnavailable and wire.ErrUnavailable.
func (e *StartError) Is(target error) bool {
	return target == wire.ErrDriverUnavailable || target == wire.ErrUnavailable
}

// commandText is a driver's command as errors quote it.
func commandText(spec Spec, prog *program) string {
	if spec.Builtin {
		if prog == nil {
			return "the built-in driver"
		}
		return fmt.Sprintf("the built-in driver, %q,", prog.real)
	}
	words := spec.Spelled
	if words == nil {
		words = spec.Command
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = fmt.Sprintf("%q", word)
	}
	return strings.Join(quoted, " ")
}

// initHint explains the one way of failing that only built-ins have.
func initHint(spec Spec) string {
	return fmt.Sprintf("; a built-in driver is this program started again, so that package variables and init() functions of the program run first: one of them may have ended the process, waited, or read its stdin (keep such work in main, or use run: command with cachewright-driver-%s)", spec.Name)
}
