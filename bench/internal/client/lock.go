package client

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bsm/redislock"
	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// A Lock runs something while it is held.
type Lock func(ctx context.Context, run func(context.Context) error) error

const lease = 30 * time.Second

// Redislock is bsm/redislock; who finds the lock taken tries again that often.
func Redislock(c GoRedis, key string, again time.Duration) Lock {
	locker := redislock.New(c.Client)
	return func(ctx context.Context, run func(context.Context) error) error {
		lock, err := locker.Obtain(ctx, key, lease, &redislock.Options{RetryStrategy: redislock.LinearBackoff(again)})
		if err != nil {
			return err
		}
		if err := run(ctx); err != nil {
			return err
		}
		return lock.Release(ctx)
	}
}

// Redsync is redsync on one server, with its own pauses between attempts.
func Redsync(c GoRedis, key string) Lock {
	locker := redsync.New(goredis.NewPool(c.Client))
	return func(ctx context.Context, run func(context.Context) error) error {
		mutex := locker.NewMutex(key, redsync.WithExpiry(lease), redsync.WithTries(1000))
		if err := mutex.LockContext(ctx); err != nil {
			return err
		}
		if err := run(ctx); err != nil {
			return err
		}
		_, err := mutex.UnlockContext(ctx)
		return err
	}
}

// Enter is the contender that takes a lock and gives it back; the locks are
// taken by the callers in turn.
func Enter(key, title string, locks ...Lock) contest.Contender {
	return contest.Contender{Key: key, Title: title, Call: func(ctx context.Context, n int) error {
		return locks[n%len(locks)](ctx, func(context.Context) error { return nil })
	}}
}

// longestHold is how long a holder lets a waiter wait at most: longer than the
// pause of a contender that polls, so that no moment of its pause is favoured.
const longestHold = 102 * time.Millisecond

// HandOver is the contender that measures the time from the release by one
// participant to the entry of another, who has been waiting: under the first and
// the last of locks, which are one lock, perhaps in two hosts.
func HandOver(key, title string, locks ...Lock) contest.Contender {
	holder, waiter := locks[0], locks[len(locks)-1]
	return contest.Contender{Key: key, Title: title, Timed: func(ctx context.Context, _ int) (time.Duration, error) {
		held, release, entered := make(chan struct{}), make(chan struct{}), make(chan time.Time, 1)
		left := make(chan error, 2)
		go func() {
			left <- holder(ctx, func(context.Context) error { close(held); <-release; return nil })
		}()
		select {
		case <-held:
		case err := <-left:
			return 0, err
		}
		go func() {
			left <- waiter(ctx, func(context.Context) error { entered <- time.Now(); return nil })
		}()
		time.Sleep(2*time.Millisecond + rand.N(longestHold-2*time.Millisecond))
		begin := time.Now()
		close(release)
		for range 2 {
			if err := <-left; err != nil {
				return 0, err
			}
		}
		return (<-entered).Sub(begin), nil
	}}
}
