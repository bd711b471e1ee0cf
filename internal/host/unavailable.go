package host

import (
	"fmt"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// An UnavailableError says that a driver has no process that works. It matches
// wire.ErrDriverUnavailable.
type UnavailableError struct {
	Driver    string
	NextStart time.Time // when the next start is tried; zero if nothing is planned
	Err       error     // why the last process or start failed
}

func (e *UnavailableError) Error() string {
	text := fmt.Sprintf("driver %s is unavailable", e.Driver)
	if !e.NextStart.IsZero() {
		text += " (the next start is due " + dueIn(time.Until(e.NextStart)) + ")"
	}
	if start, ok := e.Err.(*StartError); ok { // which names the driver again
		return text + ": " + start.text()
	}
	return fmt.Sprintf("%s: %v", text, e.Err)
}

func dueIn(wait time.Duration) string {
	if wait <= 0 {
		return "now"
	}
	return "in " + wait.Round(time.Millisecond).String()
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Is matches wire.ErrDriverUnavailable and wire.ErrUnavailable.
func (e *UnavailableError) Is(target error) bool {
	return target == wire.ErrDriverUnavailable || target == wire.ErrUnavailable
}
