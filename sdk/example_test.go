package sdk_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/cachewright/cachewright/sdk"
)

type options struct {
	MaxValue sdk.Bytes `option:"max_value" default:"1MiB" doc:"size of the largest value"`
}

type store struct {
	options
	entries sync.Map
}

type entry struct {
	value []byte
	ends  time.Time
}

func open(_ context.Context, o options) (*store, error) { return &store{options: o}, nil }

func (s *store) Get(_ context.Context, key string) ([]byte, bool, error) {
	found, _ := s.entries.Load(key)
	e, _ := found.(entry)
	return e.value, time.Now().Before(e.ends), nil
}

func (s *store) Set(_ context.Context, key string, value []byte, ttl time.Duration) error {
	if len(value) > int(s.MaxValue) {
		return fmt.Errorf("%w: %d bytes, and max_value is %v", sdk.ErrTooLarge, len(value), s.MaxValue)
	}
	if ttl == sdk.NoExpiry {
		ttl = math.MaxInt64
	}
	s.entries.Store(key, entry{bytes.Clone(value), time.Now().Add(ttl)})
	return nil
}

func (s *store) Delete(_ context.Context, key string) (bool, error) {
	found, _ := s.entries.LoadAndDelete(key)
	e, _ := found.(entry)
	return time.Now().Before(e.ends), nil
}

func (s *store) Close() error { return nil }

// A complete driver: its stores live in the memory of its process.
func ExampleServe() {
	// func main() {
	sdk.Serve(sdk.Define("acme", "1.0.0", open))
	// }
}
