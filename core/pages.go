package core

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/cachewright/cachewright/sdk"
)

// keysPerPage is how many keys one call of Keys asks for.
const keysPerPage = 1000

// Clear is ICacheRepository's. It goes in pages; the store's timeout bounds
// each page where ctx has no deadline.
func (r *CacheRepository) Clear(ctx context.Context) error {
	var cursor []byte
	for {
		c, err := r.store.begin(ctx, OpClear, "", 0)
		if err != nil {
			return err
		}
		next, _, err := c.opened.Clear(c.ctx, r.store.prefix, cursor)
		if err := c.end(Outcome{Err: err}); err != nil {
			return err
		}
		if len(next) == 0 {
			return nil
		}
		cursor = next
	}
}

// Keys iterates over the live keys that start with match, literally, in no
// order; "" matches all. Keys that stay throughout are listed, others may be,
// and a key may come twice. It goes in pages as Clear does; an error ends it.
func (r *CacheRepository) Keys(ctx context.Context, match string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var cursor []byte
		for {
			keys, next, err := r.keysPage(ctx, match, cursor)
			if err != nil {
				yield("", err)
				return
			}
			for _, key := range keys {
				if !yield(strings.TrimPrefix(key, r.store.prefix), nil) {
					return
				}
			}
			if len(next) == 0 {
				return
			}
			cursor = next
		}
	}
}

func (r *CacheRepository) keysPage(ctx context.Context, match string, cursor []byte) (keys []string, next []byte, err error) {
	c, err := r.store.begin(ctx, OpKeys, "", 0)
	if err != nil {
		return nil, nil, err
	}
	keys, next, err = c.opened.Keys(c.ctx, r.store.prefix+match, cursor, keysPerPage)
	return keys, next, c.end(Outcome{Hits: len(keys), Err: err})
}

// Ping checks that driver and backend can be reached.
func (r *CacheRepository) Ping(ctx context.Context) error {
	c, err := r.store.begin(ctx, OpPing, "", 0)
	if err != nil {
		return err
	}
	return c.end(Outcome{Err: c.opened.Ping(c.ctx)})
}

// A Stat is one line of a store's report to its operator.
type Stat struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Warning string `json:"warning,omitempty"` // what should be done about it
}

// Stats asks the driver for its report; a driver that has none gives none.
func (r *CacheRepository) Stats(ctx context.Context) ([]Stat, error) {
	c, err := r.store.begin(ctx, OpStats, "", 0)
	if err != nil {
		return nil, err
	}
	reported, err := c.opened.Stats(c.ctx)
	stats := make([]Stat, len(reported))
	for i, s := range reported {
		stats[i] = Stat(s)
	}
	return stats, c.end(Outcome{Err: err})
}

// Capabilities are what a store's driver announced when the store opened.
type Capabilities struct {
	Operations      []string `json:"operations"` // beyond get, set and delete; sorted
	Granularity     string   `json:"granularity"`
	MaxKey          int      `json:"max_key"`
	MaxValue        int64    `json:"max_value,omitempty"` // bytes; 0: not known
	LockStrategy    string   `json:"lock_strategy"`       // the driver's default; "": none
	LockScope       string   `json:"lock_scope"`
	ShortestLease   string   `json:"shortest_lease"`
	ReleaseCompares bool     `json:"release_compares"`
	Class           string   `json:"class"`
}

// Has reports whether an operation is among Operations.
func (c Capabilities) Has(operation string) bool {
	return slices.Contains(c.Operations, operation)
}

// Capabilities opens the store and returns what its driver announced.
func (r *CacheRepository) Capabilities(ctx context.Context) (Capabilities, error) {
	c, err := r.store.begin(ctx, OpOpen, "", 0)
	if err != nil {
		return Capabilities{}, err
	}
	return capabilitiesOf(c.opened.Traits(), c.opened.Capabilities()), c.end(Outcome{})
}

func capabilitiesOf(t sdk.Traits, announced sdk.Capabilities) Capabilities {
	c := Capabilities{
		Operations:      make([]string, len(announced)),
		Granularity:     t.Granularity.String(),
		MaxKey:          t.MaxKey,
		MaxValue:        t.MaxValue,
		LockStrategy:    t.LockStrategy,
		LockScope:       string(t.LockScope),
		ShortestLease:   t.ShortestLease.String(),
		ReleaseCompares: t.ReleaseCompares,
		Class:           string(t.Class),
	}
	for i, operation := range announced {
		c.Operations[i] = string(operation)
	}
	return c
}
