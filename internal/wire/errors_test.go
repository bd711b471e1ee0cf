package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
)

func TestEverySentinelSurvivesTheWire(t *testing.T) {
	t.Parallel()
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			sent := Encode(fmt.Errorf("store x: %w: because", row.sentinel))
			got := FromNames(sent.Names(), sent.Message)
			if !errors.Is(got, row.sentinel) {
				t.Errorf("%q arrives as %v", row.name, got.Codes)
			}
			if sent.Status() != row.status {
				t.Errorf("status = %v, want %v", sent.Status(), row.status)
			}
			for _, other := range table {
				implied := errors.Is(row.sentinel, other.sentinel) // driver-unavailable is unavailable too
				if errors.Is(got, other.sentinel) != implied {
					t.Errorf("%q arrives and matches %q: %v", row.name, other.name, !implied)
				}
			}
		})
	}
}

func TestSeveralSentinelsSurviveTogether(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(context.DeadlineExceeded, ErrMaybeApplied))
	sent := Encode(err)
	if want := "maybe-applied,deadline-exceeded,unavailable"; sent.Names() != want {
		t.Errorf("Names = %q, want %q", sent.Names(), want)
	}
	if sent.Status() != codes.Aborted {
		t.Errorf("Status = %v, want that of the first", sent.Status())
	}
	got := FromNames(sent.Names(), sent.Message)
	for _, sentinel := range []error{ErrUnavailable, context.DeadlineExceeded, ErrMaybeApplied} {
		if !errors.Is(got, sentinel) {
			t.Errorf("%v does not match %v", got, sentinel)
		}
	}
}

func TestAnErrorThatMatchesNothingKeepsItsWords(t *testing.T) {
	t.Parallel()
	sent := Encode(errors.New("the moon is full"))
	got := FromNames(sent.Names(), sent.Message)
	if sent.Names() != "other" || sent.Status() != codes.Unknown || got.Error() != "the moon is full" || len(got.Codes) != 0 {
		t.Errorf("sent %q %v, got %v %v", sent.Names(), sent.Status(), got, got.Codes)
	}
	if Encode(nil) != nil {
		t.Error("nil is an error")
	}
}

func TestMessagesAreBoundedAndValid(t *testing.T) {
	t.Parallel()
	sent := Encode(errors.New(strings.Repeat("é", MaxErrorText) + "\xff"))
	if len(sent.Message) > MaxErrorText || !utf8.ValidString(sent.Message) {
		t.Errorf("%d bytes, valid %v", len(sent.Message), utf8.ValidString(sent.Message))
	}
}

func TestCodesAndNamesAreUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"other": true}
	for _, row := range table {
		code := fmt.Sprint(row.code)
		if seen[row.name] || seen[code] {
			t.Errorf("%d %q is there twice", row.code, row.name)
		}
		seen[row.name], seen[code] = true, true
	}
	if len(ErrorNames()) != len(table)+1 {
		t.Errorf("ErrorNames has %d names", len(ErrorNames()))
	}
}

// The table is in documents and in drivers of other languages: nothing in it
// may change.
func TestTheTableNeverChanges(t *testing.T) {
	t.Parallel()
	want := "1 maybe-applied Aborted, 2 canceled Canceled, 3 deadline-exceeded DeadlineExceeded, 4 invalid-key InvalidArgument, " +
		"5 invalid-ttl InvalidArgument, 6 invalid-options InvalidArgument, 7 too-large ResourceExhausted, 8 not-integer FailedPrecondition, " +
		"9 overflow OutOfRange, 10 corrupt DataLoss, 11 overloaded ResourceExhausted, 12 closed FailedPrecondition, " +
		"13 unsupported Unimplemented, 14 driver-unavailable Unavailable, 15 unavailable Unavailable, 16 internal Internal, 17 not-open NotFound"
	var rows []string
	for _, row := range table {
		rows = append(rows, fmt.Sprintf("%d %s %v", row.code, row.name, row.status))
	}
	if got := strings.Join(rows, ", "); !strings.HasPrefix(got, want) {
		t.Errorf("the table is\n%s\nand began as\n%s", got, want)
	}
}

func TestAStatusWithoutTheTrailerIsRead(t *testing.T) {
	t.Parallel()
	for code, sentinel := range map[codes.Code]error{
		codes.Canceled:          context.Canceled,
		codes.DeadlineExceeded:  context.DeadlineExceeded,
		codes.ResourceExhausted: ErrTooLarge,
		codes.DataLoss:          ErrCorrupt,
		codes.OutOfRange:        ErrOverflow,
		codes.Unimplemented:     errors.ErrUnsupported,
		codes.Internal:          ErrInternal,
	} {
		if got := FromStatus(code, "words"); !errors.Is(got, sentinel) || got.Error() != "words" {
			t.Errorf("%v = %v, want %v", code, got, sentinel)
		}
	}
	got := FromStatus(codes.Unavailable, "words")
	if len(got.Codes) != 0 || !strings.Contains(got.Error(), "Unavailable") {
		t.Errorf("Unavailable = %v %v, want no sentinel and the code's name", got, got.Codes)
	}
}

func TestALockTimeoutIsNoDeadlineOfAContext(t *testing.T) {
	t.Parallel()
	if !errors.Is(ErrLockTimeout, os.ErrDeadlineExceeded) || errors.Is(ErrLockTimeout, context.DeadlineExceeded) {
		t.Error("ErrLockTimeout matches the wrong deadline")
	}
}

func FuzzFromNames(f *testing.F) {
	f.Add("maybe-applied,canceled", "words")
	f.Add(" closed , closed,nonsense,,", "")
	f.Add("other", "\xff")
	f.Fuzz(func(t *testing.T, names, message string) {
		e := FromNames(names, message)
		again := FromNames(e.Names(), e.Message)
		if slices.Sort(e.Codes); !slices.Equal(e.Codes, slices.Sorted(slices.Values(again.Codes))) {
			t.Errorf("%q gives %v, and its own names give %v", names, e.Codes, again.Codes)
		}
		if e.Error() != message {
			t.Errorf("the message %q became %q", message, e.Error())
		}
	})
}
