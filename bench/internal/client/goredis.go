package client

import (
	"context"
	"fmt"

	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/redis/go-redis/v9"
)

// GoRedis is go-redis at its default settings: a pool of connections, one
// command a round trip.
type GoRedis struct{ *redis.Client }

// NewGoRedis makes a client; network is "tcp" or "unix".
func NewGoRedis(network, address string) GoRedis {
	return GoRedis{redis.NewClient(&redis.Options{Network: network, Addr: address})}
}

// Get reads a value.
func (c GoRedis) Get(ctx context.Context, key string) ([]byte, error) {
	return c.Client.Get(ctx, key).Bytes()
}

// Set stores a value.
func (c GoRedis) Set(ctx context.Context, key string, value []byte) error {
	return c.Client.Set(ctx, key, value, TTL).Err()
}

// Increment is the contender that counts, on sixteen counters.
func (c GoRedis) Increment(key, title string) contest.Contender {
	d := NewData("direct counter", 16, 0)
	return contest.Contender{Key: key, Title: title, Call: func(ctx context.Context, n int) error {
		return c.IncrBy(ctx, d.Key(n), 1).Err()
	}}
}

// MGet is the contender that reads a batch in one command.
func (c GoRedis) MGet(key, title string, d Data, batch int) contest.Contender {
	return contest.Contender{Key: key, Title: title, Call: func(ctx context.Context, n int) error {
		values, err := c.Client.MGet(ctx, d.Window(n, batch)...).Result()
		if err == nil && len(values) != batch {
			err = fmt.Errorf("%d of %d keys are answered", len(values), batch)
		}
		return err
	}}
}

// ByHand is the contender that sends as many reads as there are callers in one
// pipeline, from one goroutine: what an application can do that has them all at
// hand at once.
func (c GoRedis) ByHand(key, title string, d Data, callers int) contest.Contender {
	return contest.Contender{Key: key, Title: title, Each: callers, Alone: true, Call: func(ctx context.Context, n int) error {
		answers, err := c.Pipelined(ctx, func(pipeline redis.Pipeliner) error {
			for i := range callers {
				pipeline.Get(ctx, d.Key(n*callers+i))
			}
			return nil
		})
		if err == nil && len(answers) != callers {
			err = fmt.Errorf("%d of %d reads are answered", len(answers), callers)
		}
		return err
	}}
}

// AutoPipeline is go-redis with commands of concurrent callers put together.
type AutoPipeline struct{ *redis.AutoPipeliner }

// NewAutoPipeline makes one of a client of its own, with the settings that
// go-redis has for callers that wait.
func NewAutoPipeline(c GoRedis) (AutoPipeline, error) {
	auto, err := c.AutoPipeline()
	return AutoPipeline{auto}, err
}

// Get reads a value.
func (c AutoPipeline) Get(ctx context.Context, key string) ([]byte, error) {
	return c.AutoPipeliner.Get(ctx, key).Bytes()
}

// Set stores a value.
func (c AutoPipeline) Set(ctx context.Context, key string, value []byte) error {
	return c.AutoPipeliner.Set(ctx, key, value, TTL).Err()
}
