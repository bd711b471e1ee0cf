package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
)

// The sentinel errors of the whole product. Packages sdk and core re-export
// those that their users meet; errors.Is decides, never text.
var (
	ErrInvalidKey     = errors.New("invalid key")
	ErrInvalidTTL     = errors.New("invalid TTL")
	ErrInvalidOptions = errors.New("invalid options")
	ErrTooLarge       = errors.New("value too large")
	ErrNotInteger     = errors.New("value is not an integer")
	ErrOverflow       = errors.New("integer overflow")
	ErrCorrupt        = errors.New("unreadable entry")
	ErrMaybeApplied   = errors.New("the operation may have been applied")
	ErrOverloaded     = errors.New("overloaded")
	ErrClosed         = errors.New("closed")
	ErrInternal       = errors.New("internal driver error")

	// ErrNotOpen says that the driver's process knows no store of the number
	// that a call named, so that nothing was done: the process is another one
	// than the store was opened in. The host opens the store again.
	ErrNotOpen = errors.New("store not open in this process")

	// ErrUnavailable says that a backend can't be reached and that nothing was
	// applied. ErrDriverUnavailable says it of the driver's process, and matches
	// ErrUnavailable too.
	ErrUnavailable             = errors.New("unavailable")
	ErrDriverUnavailable error = driverUnavailable{}

	ErrMiss                    = errors.New("no such entry")
	ErrNull                    = errors.New("the entry is null")
	ErrWrongType               = errors.New("the entry has another type")
	ErrUnknownStore            = errors.New("unknown store")
	ErrInvalidConfig           = errors.New("invalid configuration")
	ErrInvalidLockOption       = errors.New("invalid lock option")
	ErrLockTimeout       error = lockTimeout{}
	ErrLockLost                = errors.New("lock lost")
	ErrLockReentrant           = errors.New("lock already held by this block")
)

type driverUnavailable struct{}

func (driverUnavailable) Error() string        { return "driver unavailable" }
func (driverUnavailable) Is(target error) bool { return target == ErrUnavailable }

// lockTimeout can be told from a context's deadline: it matches
// os.ErrDeadlineExceeded and never context.DeadlineExceeded.
type lockTimeout struct{}

func (lockTimeout) Error() string        { return "waited too long for the lock" }
func (lockTimeout) Is(target error) bool { return target == os.ErrDeadlineExceeded }
func (lockTimeout) Timeout() bool        { return true }

// A Code is how a sentinel travels between the processes. Codes are never
// renumbered or reused; a peer that doesn't know one keeps the message.
type Code uint32

// An entry of the table ties a sentinel to its code, to the name by which it
// travels beside a gRPC status, and to the status itself.
type entry struct {
	code     Code
	name     string
	status   codes.Code
	sentinel error
}

// The one table between errors and codes. Its order is the order in which an
// error that matches several is described; the first decides the gRPC status.
var table = []entry{
	{1, "maybe-applied", codes.Aborted, ErrMaybeApplied},
	{2, "canceled", codes.Canceled, context.Canceled},
	{3, "deadline-exceeded", codes.DeadlineExceeded, context.DeadlineExceeded},
	{4, "invalid-key", codes.InvalidArgument, ErrInvalidKey},
	{5, "invalid-ttl", codes.InvalidArgument, ErrInvalidTTL},
	{6, "invalid-options", codes.InvalidArgument, ErrInvalidOptions},
	{7, "too-large", codes.ResourceExhausted, ErrTooLarge},
	{8, "not-integer", codes.FailedPrecondition, ErrNotInteger},
	{9, "overflow", codes.OutOfRange, ErrOverflow},
	{10, "corrupt", codes.DataLoss, ErrCorrupt},
	{11, "overloaded", codes.ResourceExhausted, ErrOverloaded},
	{12, "closed", codes.FailedPrecondition, ErrClosed},
	{13, "unsupported", codes.Unimplemented, errors.ErrUnsupported},
	{14, "driver-unavailable", codes.Unavailable, ErrDriverUnavailable},
	{15, "unavailable", codes.Unavailable, ErrUnavailable},
	{16, "internal", codes.Internal, ErrInternal},
	{17, "not-open", codes.NotFound, ErrNotOpen},
}

// An Error is an error as it came over the wire: the driver's words, and the
// sentinels that they matched over there.
type Error struct {
	Codes   []Code
	Message string
}

func (e *Error) Error() string { return e.Message }

// Is reports whether the error matched target on the other side.
func (e *Error) Is(target error) bool {
	for _, row := range table {
		if row.sentinel == target {
			return e.has(row.code)
		}
	}
	return false
}

func (e *Error) has(code Code) bool { return slices.Contains(e.Codes, code) }

// Encode describes err for the wire. It returns nil for nil. The message is cut
// at MaxErrorText, and made valid UTF-8 where it isn't.
func Encode(err error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Message: clip(err.Error())}
	for _, row := range table {
		if errors.Is(err, row.sentinel) {
			e.Codes = append(e.Codes, row.code)
		}
	}
	return e
}

func clip(message string) string {
	if len(message) > MaxErrorText {
		message = message[:MaxErrorText]
	}
	return strings.ToValidUTF8(message, "")
}

// Status is the gRPC status code that fits the error best.
func (e *Error) Status() codes.Code {
	for _, row := range table {
		if e.has(row.code) {
			return row.status
		}
	}
	return codes.Unknown
}

// Names lists the sentinels by name, separated by commas, as the trailer
// ErrorTrailer carries them. An error that matches none is "other".
func (e *Error) Names() string {
	var names []string
	for _, row := range table {
		if e.has(row.code) {
			names = append(names, row.name)
		}
	}
	if len(names) == 0 {
		return "other"
	}
	return strings.Join(names, ",")
}

// FromNames is the inverse of Names. Names that it doesn't know are skipped,
// and blanks around a name are.
func FromNames(names, message string) *Error {
	e := &Error{Message: message}
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		for _, row := range table {
			if row.name == name && !e.has(row.code) {
				e.Codes = append(e.Codes, row.code)
			}
		}
	}
	return e
}

// ErrorNames lists every name that the trailer can carry, in the order of the
// table, "other" last.
func ErrorNames() []string {
	names := make([]string, 0, len(table)+1)
	for _, row := range table {
		names = append(names, row.name)
	}
	return append(names, "other")
}

// FromStatus reads a status that came without the trailer, as a driver in
// another language may send it. Unavailable is left out on purpose: without the
// trailer it is gRPC's own word for a lost connection.
func FromStatus(code codes.Code, message string) *Error {
	e := &Error{Message: message}
	switch code {
	case codes.Canceled:
		e.Codes = []Code{2}
	case codes.DeadlineExceeded:
		e.Codes = []Code{3}
	case codes.ResourceExhausted:
		e.Codes = []Code{7}
	case codes.DataLoss:
		e.Codes = []Code{10}
	case codes.OutOfRange:
		e.Codes = []Code{9}
	case codes.Unimplemented:
		e.Codes = []Code{13}
	case codes.Internal:
		e.Codes = []Code{16}
	default:
		e.Message = fmt.Sprintf("%s (%s)", message, code)
	}
	return e
}
