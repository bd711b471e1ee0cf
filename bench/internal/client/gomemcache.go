package client

import (
	"context"

	"github.com/bradfitz/gomemcache/memcache"
)

// Gomemcache is gomemcache with a connection for each caller.
type Gomemcache struct{ client *memcache.Client }

// NewGomemcache makes a client of the server at an address or a socket's path.
func NewGomemcache(address string, callers int) Gomemcache {
	c := memcache.New(address)
	c.MaxIdleConns = callers
	return Gomemcache{c}
}

// Get reads a value.
func (c Gomemcache) Get(_ context.Context, key string) ([]byte, error) {
	item, err := c.client.Get(key)
	if err != nil {
		return nil, err
	}
	return item.Value, nil
}

// Set stores a value.
func (c Gomemcache) Set(_ context.Context, key string, value []byte) error {
	return c.client.Set(&memcache.Item{Key: key, Value: value, Expiration: int32(TTL.Seconds())})
}

// Close ends the connections.
func (c Gomemcache) Close() error { return c.client.Close() }
