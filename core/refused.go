package core

import (
	"errors"
	"strings"

	"github.com/cachewright/cachewright/core/internal/config"
	"github.com/cachewright/cachewright/sdk"
)

// An optionsError is what a driver refused of a store's options, and where it
// stands.
type optionsError struct {
	problems []config.Problem
	refused  error
}

func (e *optionsError) Error() string {
	lines := make([]string, len(e.problems))
	for i, p := range e.problems {
		lines[i] = p.String()
	}
	return "the driver refuses its options: " + strings.Join(lines, "; ")
}

func (e *optionsError) Is(target error) bool { return target == ErrInvalidConfig }

func (e *optionsError) Unwrap() error { return e.refused }

// placed adds to the error of an opening where the options stand that the driver
// refused.
func (s *store) placed(err error) error {
	refused, ok := errors.AsType[*sdk.OptionsError](err)
	if !ok || len(refused.Problems) == 0 {
		return err
	}
	placed := &optionsError{refused: err}
	for _, p := range refused.Problems {
		key := "stores." + s.name
		if p.Key != "" {
			key += "." + p.Key
		}
		placed.problems = append(placed.problems, config.Problem{Position: s.manager.config.Origin(key), Key: key, Reason: p.Reason})
	}
	return placed
}
