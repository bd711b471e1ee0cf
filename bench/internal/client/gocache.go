package client

import (
	"context"
	"unsafe"

	"github.com/cachewright/cachewright/bench/internal/contest"
	"github.com/eko/gocache/lib/v4/cache"
	"github.com/eko/gocache/lib/v4/store"
	redisstore "github.com/eko/gocache/store/redis/v4"
)

// Gocache is eko/gocache over go-redis.
type Gocache struct{ cache *cache.Cache[string] }

// NewGocache makes one over a client.
func NewGocache(c GoRedis) Gocache {
	return Gocache{cache.New[string](redisstore.NewRedis(c.Client, store.WithExpiration(TTL)))}
}

// Get reads a value.
func (c Gocache) Get(ctx context.Context, key string) ([]byte, error) {
	value, err := c.cache.Get(ctx, key)
	return unsafe.Slice(unsafe.StringData(value), len(value)), err // read only
}

// Set stores a value.
func (c Gocache) Set(ctx context.Context, key string, value []byte) error {
	return c.cache.Set(ctx, key, string(value))
}

// Loadable is the contender that resembles Remember, whose every call finds the
// entry.
func (c Gocache) Loadable(key, title string, d Data) contest.Contender {
	loadable := cache.NewLoadable(func(context.Context, any) (string, []store.Option, error) {
		return "", nil, errMissing
	}, c.cache)
	return contest.Contender{Key: key, Title: title, Call: func(ctx context.Context, n int) error {
		_, err := loadable.Get(ctx, d.Key(n))
		return err
	}}
}
