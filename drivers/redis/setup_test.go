package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/cachewright/cachewright/drivers/redis"
	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	goredis "github.com/redis/go-redis/v9"
)

// patience ends what hangs.
const patience = 30 * time.Second

// opened opens a store that is closed when the test ends.
func opened(t testing.TB, options map[string]any) *sdk.Instance {
	t.Helper()
	store, err := redis.Driver.Open(t.Context(), options)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := store.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return store
}

// on opens a store on a server.
func on(t testing.TB, server *servertest.Redis) *sdk.Instance {
	t.Helper()
	return opened(t, map[string]any{"addr": server.Addr()})
}

// observer is a client that sees what is really there.
func observer(t testing.TB, server *servertest.Redis, options ...func(*goredis.Options)) *goredis.Client {
	t.Helper()
	o := &goredis.Options{Network: "unix", Addr: server.Socket(), MaxRetries: -1, ReadTimeout: 2 * time.Minute}
	for _, change := range options {
		change(o)
	}
	client := goredis.NewClient(o)
	t.Cleanup(func() { client.Close() })
	return client
}

// command runs a command of the server's own, which must work.
func command(t testing.TB, client *goredis.Client, args ...any) any {
	t.Helper()
	answer, err := client.Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return answer
}

// within is a context for one call.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until try succeeds.
func eventually(t testing.TB, what string, try func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited %v for this: %s: %v", patience, what, err)
		}
	}
}
