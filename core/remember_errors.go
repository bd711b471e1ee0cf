package core

import (
	"errors"
	"fmt"
	"os"
)

// Errors of Remember under options.
var (
	// ErrNotFound is what a resolver returns, wrapped or not, to say that there
	// is nothing under this key: an answer, not a failure. With NegativeTTL it is
	// kept, and Remember returns it without asking again.
	ErrNotFound = errors.New("not found")
	// ErrResolverTimeout: the resolver took longer than HardLimit or
	// SingleFlight allow. It matches os.ErrDeadlineExceeded and never
	// context.DeadlineExceeded.
	ErrResolverTimeout error = resolverTimeout{}
	// ErrInvalidRememberOption: options of Remember that can't be followed.
	ErrInvalidRememberOption = errors.New("invalid option of Remember")
)

type resolverTimeout struct{}

func (resolverTimeout) Error() string        { return "the resolver takes too long" }
func (resolverTimeout) Is(target error) bool { return target == os.ErrDeadlineExceeded }
func (resolverTimeout) Timeout() bool        { return true }

// A ResolverPanic is what callers of a detached resolver panic with when it
// panicked: the value it panicked with and the stack of its goroutine.
type ResolverPanic struct {
	Value any
	Stack []byte
}

func (p *ResolverPanic) Error() string {
	return fmt.Sprintf("the resolver panicked: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns Value if it is an error.
func (p *ResolverPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// errNoResolve is what becomes of a detached resolver that ended its goroutine.
var errNoResolve = errors.New("the resolver ended its goroutine without returning")
