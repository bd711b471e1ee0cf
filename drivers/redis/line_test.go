package redis

import (
	"context"
	"errors"
	"net"
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
		Addr: silent(t), DialTimeout: time.Second, StallTimeout: time.Minute, Pipelines: 2, PoolSize: 1, ClientName: "test",
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
