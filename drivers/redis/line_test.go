package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

// silent is a server that takes connections and says nothing.
func silent(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

func TestCallsThatFindNoRoomAreTurnedAway(t *testing.T) {
	t.Parallel()
	store, err := open(t.Context(), options{
		Addr: new(silent(t)), DialTimeout: time.Second, StallTimeout: time.Minute, Pipelines: 2, PoolSize: 1, ClientName: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	line := &store.route.(*single).only.line
	line.room = 10
	waiting := func(n int) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
			line.mu.Lock()
			now := len(line.queue)
			line.mu.Unlock()
			if now == n {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d calls wait; want %d", now, n)
			}
		}
	}
	ctx, giveUp := context.WithCancel(t.Context())
	results := make(chan error, 12)
	for range 12 { // two have a lane each
		go func() { _, _, err := store.Get(ctx, "k"); results <- err }()
	}
	waiting(10)
	if _, err := store.Increment(t.Context(), "k", 1, sdk.NoExpiry); !errors.Is(err, sdk.ErrOverloaded) || errors.Is(err, sdk.ErrMaybeApplied) {
		t.Errorf("the thirteenth call: %v; want ErrOverloaded", err)
	}
	giveUp()
	for range 12 {
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was given up: %v", err)
		}
	}
	// The places of those who have gone are free again.
	late, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, _, err := store.Get(late, "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call that finds room: %v; want to run out of time", err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

// A server that says nothing is named before a call's own patience ends, which
// would name nothing.
func TestASilentServerIsNamed(t *testing.T) {
	t.Parallel()
	addr := silent(t)
	store, err := Driver.Open(t.Context(), map[string]any{"addr": addr, "tls": map[string]any{"enabled": true}, "dial_timeout": "300ms"})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.WithoutCancel(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, _, err = store.Get(ctx, "k")
	if !errors.Is(err, sdk.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), addr) {
		t.Errorf("%v; want ErrUnavailable that names %s", err, addr)
	}
}

func TestTwoSilencesAreEnoughAndThreeRefusals(t *testing.T) {
	t.Parallel()
	store, err := open(t.Context(), options{Addr: new(silent(t)), DialTimeout: time.Second, StallTimeout: time.Second, Pipelines: 1, PoolSize: 1, ClientName: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for cause, want := range map[error]int{os.ErrDeadlineExceeded: 2, io.EOF: 3} {
		var tried trial
		attempts := 0
		for err = nil; err == nil; attempts++ {
			_, err = store.weighLoss(t.Context(), &tried, store.nowhere, false, cause)
		}
		if attempts != want || !errors.Is(err, sdk.ErrUnavailable) {
			t.Errorf("%v: given up after %d attempts with %v; want %d", cause, attempts, err, want)
		}
	}
}
