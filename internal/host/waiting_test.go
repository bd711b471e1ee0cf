//go:build unix

package host

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/wire"
)

// Whoever waits for a driver with little patience learns what the driver has
// failed to do so far.
func TestACallThatLosesPatienceSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	d := newDriver(t, command(t, "says nothing"))
	r := newRemoteStore(d, "s", nil)
	eventually(t, "the error says it", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := r.acquire(ctx)
		return err != nil && strings.Contains(err.Error(), "printed no handshake on stdout")
	})
}

// A store that panics costs its host's log one record, at ERROR.
func TestAPanicInAStoreIsOneErrorInTheLog(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	spec := command(t, "driver")
	spec.Logger = log.logger()
	r := openStore(t, newDriver(t, spec), nil)
	if _, _, err := r.Get(guarded(t), "panic"); err == nil || !strings.Contains(err.Error(), wire.ErrInternal.Error()) {
		t.Errorf("Get: %v", err)
	}
	eventually(t, "the panic is in the log", func() bool {
		return strings.Contains(log.String(), `level=ERROR msg="panic in get: `)
	})
	if text := log.String(); strings.Contains(text, "level=INFO msg=goroutine") || !strings.Contains(text, "fields.stack=") {
		t.Errorf("the stack is not in the record:\n%s", text)
	}
}

// The regular signs of life are hours away here: the call that got no answer is
// why somebody looks.
func TestACallWithoutAnAnswerHasAFrozenDriverFound(t *testing.T) {
	t.Parallel()
	d := newDriver(t, command(t, "driver"))
	d.pace.health, d.pace.answer = time.Hour, 100*time.Millisecond
	r := openStore(t, d, nil)
	must(t, syscall.Kill(d.Status().PID, syscall.SIGSTOP))
	eventually(t, "a call gets no answer", func() bool { // a signal takes a moment
		ctx, cancel := context.WithTimeout(t.Context(), longSilence+100*time.Millisecond)
		defer cancel()
		_, _, err := r.Get(ctx, "k")
		return errors.Is(err, context.DeadlineExceeded)
	})
	eventually(t, "another process answers", func() bool {
		_, _, err := r.Get(guarded(t), "k")
		return err == nil && d.Status().Restarts == 1
	})
}
