package core_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	cache "github.com/cachewright/cachewright/core"
)

// A recordingHook lists what it sees, and refuses or forgives on demand.
type recordingHook struct {
	mu      sync.Mutex // guards seen while calls are under way
	seen    []string
	refuse  error
	forgive bool
}

func (h *recordingHook) Start(ctx context.Context, _ cache.Call) (context.Context, error) {
	return ctx, h.refuse
}

func (h *recordingHook) End(_ context.Context, c cache.Call, o cache.Outcome) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, fmt.Sprintf("%s %s %d %d %v", c.Op, c.Key, o.Hits, o.Bytes, o.Err))
	if h.forgive {
		return nil
	}
	return o.Err
}

func (h *recordingHook) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
}
