package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cachewright/cachewright/internal/servertest"
	"github.com/cachewright/cachewright/sdk"
)

func TestAnswersGoToWhoAsked(t *testing.T) {
	t.Parallel()
	answersGoToWhoAsked(t, time.Second)
}

// answersGoToWhoAsked lets callers write and read values that say whose they
// are, give up at random, and lose their connections now and then.
func answersGoToWhoAsked(t *testing.T, during time.Duration) {
	server := servertest.StartRedis(t, servertest.RedisOptions{})
	proxy := servertest.StartProxy(t, "tcp", server.Addr())
	store := opened(t, map[string]any{"addr": proxy.Addr()})
	ctx, cancel := context.WithTimeout(t.Context(), during+patience)
	defer cancel()
	var answered, ended atomic.Int64
	stop := load(ctx, 32, func(ctx context.Context, i int) {
		for n := 0; ctx.Err() == nil; n++ {
			given, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			if n%4 == 0 {
				time.AfterFunc(rand.N(2*time.Millisecond), cancel)
			}
			err := talk(given, store, fmt.Sprint("key", i, "-", n%8))
			cancel()
			switch {
			case err == nil:
				answered.Add(1)
			case errors.Is(err, context.Canceled), errors.Is(err, sdk.ErrMaybeApplied), errors.Is(err, sdk.ErrUnavailable):
				ended.Add(1)
			default:
				t.Error(err)
			}
		}
	})
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		proxy.Reset()
	}
	stop()
	t.Logf("%d calls were answered, %d were given up or cut", answered.Load(), ended.Load())
	if answered.Load() < 100 || ended.Load() < 10 {
		t.Error("there was no stress")
	}
}

// talk makes one call about the key and fails if the answer is another's.
func talk(ctx context.Context, store *sdk.Instance, key string) error {
	switch rand.N(4) {
	case 0:
		size := rand.N(2000)
		if rand.N(50) == 0 {
			size = 100 << 10
		}
		value := append([]byte(key+" "), make([]byte, size)...)
		err := store.Set(ctx, key, value, time.Minute)
		copy(value, "overwritten by its owner") // whatever became of the call
		return err
	case 1:
		sum, err := store.Increment(ctx, "n"+key, 1, time.Minute)
		if err == nil && sum < 1 {
			return fmt.Errorf("the sum of %s is %d", key, sum)
		}
		return err
	case 2:
		found, err := store.GetMany(ctx, []string{key, "absent" + key})
		if err != nil {
			return err
		}
		if found[1].OK {
			return fmt.Errorf("a key that isn't there has %.40q", found[1].Value)
		}
		return errors.Join(found[0].Err, owns(key, found[0].Value, found[0].OK))
	default:
		value, ok, err := store.Get(ctx, key)
		return errors.Join(err, owns(key, value, ok))
	}
}

func owns(key string, value []byte, ok bool) error {
	if ok && !bytes.HasPrefix(value, []byte(key+" ")) {
		return fmt.Errorf("%s has a value of another: %.40q", key, value)
	}
	return nil
}
