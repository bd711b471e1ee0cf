package redis

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

// A master that was out of reach for a while doesn't know that it was deposed,
// and takes writes that will be lost. Nobody calls the store meanwhile: only
// what Sentinels publish can tell it.
func TestADeposedMasterIsLeftEvenIfItAnswers(t *testing.T) {
	t.Parallel()
	set := servertest.StartSentinel(t, servertest.SentinelOptions{})
	o := options{DialTimeout: time.Second, StallTimeout: time.Second, Pipelines: 2, PoolSize: 2, ClientName: "test"}
	o.Sentinel.Master, o.Sentinel.Addrs = servertest.SentinelName, set.Addrs()
	in, err := open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, write := range []func() error{ // over connections of both kinds
		func() error { return in.Set(ctx, "k", []byte("v"), sdk.NoExpiry) },
		func() error { return in.Set(ctx, "large", make([]byte, large), sdk.NoExpiry) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	old := set.Nodes[0]
	old.Freeze(t)
	promoted := set.AwaitFailover(t, old)
	for route := in.route.(*sentinel); route.named() != promoted.Addr(); time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("the store was not told; it knows %s", route.named())
		}
	}
	old.Thaw(t)
	seen := redis.NewClient(&redis.Options{Addr: promoted.Addr()})
	defer seen.Close()
	for i := range 10 {
		for _, size := range []int{1, large} {
			key := fmt.Sprint("k", i, "-", size)
			for in.Set(ctx, key, make([]byte, size), sdk.NoExpiry) != nil && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			if err := seen.Get(ctx, key).Err(); err != nil {
				t.Fatalf("a write went to the deposed master: the new one answers %v", err)
			}
		}
	}
}

func (r *sentinel) named() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.master
}
