package host

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/cachewright/cachewright/internal/wire"
)

func TestAResetAfterTheDeadlineReadsAsTheDeadline(t *testing.T) {
	t.Parallel()
	ctx := unripe{at: time.Now(), Context: t.Context()}
	reset := status.Error(codes.DeadlineExceeded, "stream terminated by RST_STREAM with error code: CANCEL")
	if err := (&outcome{effect: reads}).failure(ctx, reset); err != context.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
}

func TestACallThatTheDriversClockEndedFirstRanOutOfTime(t *testing.T) {
	t.Parallel()
	reset := status.Error(codes.Canceled, "stream terminated by RST_STREAM with error code: CANCEL")
	for name, test := range map[string]struct {
		left      time.Duration
		effect    effect
		deadline  bool
		possible  bool
		transport bool
	}{
		"a read at its deadline":     {time.Millisecond, reads, true, false, false},
		"a write at its deadline":    {time.Millisecond, writes, true, true, false},
		"a read with time left":      {time.Hour, reads, false, false, true},
		"a write with time left":     {time.Hour, writes, false, true, true},
		"a read without a deadline":  {0, reads, false, false, true},
		"a write without a deadline": {0, writes, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Context(unripe{at: time.Now().Add(test.left), Context: t.Context()})
			if test.left == 0 {
				ctx = t.Context()
			}
			o := &outcome{effect: test.effect, peer: peer.Peer{Addr: nowhere{}}}
			err := o.failure(ctx, reset)
			if errors.Is(err, context.DeadlineExceeded) != test.deadline ||
				errors.Is(err, wire.ErrMaybeApplied) != test.possible || (lost(err) != nil) != test.transport {
				t.Errorf("got %v", err)
			}
		})
	}
}

// unripe is a context whose timer is late.
type unripe struct {
	context.Context
	at time.Time
}

func (u unripe) Deadline() (time.Time, bool) { return u.at, true }

type nowhere struct{}

func (nowhere) Network() string { return "unix" }
func (nowhere) String() string  { return "nowhere" }
