package memcached

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/cachewright/cachewright/sdk"
)

const (
	// mostAnswer is how many bytes one server may answer to one batch; the sdk
	// asks again for the keys that go without an answer.
	mostAnswer = 48 << 20
	// writers is how many writes of a batch are on their way to a server at once.
	writers = 4
)

// GetMany implements sdk.Batcher: one request to each server.
func (s *store) GetMany(ctx context.Context, keys []string) ([]sdk.Lookup, error) {
	fetched := s.fetch(ctx, keys)
	found := make([]sdk.Lookup, len(fetched))
	for i, f := range fetched {
		if f.err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e, err := f.entry(keys[i])
		if found[i].Err = err; err == nil && e.live {
			found[i].Value, found[i].OK = e.value, true
		}
	}
	return found, nil
}

// SetMany implements sdk.Batcher. Writes to a server are on their way several
// at a time, since gomemcache waits for each answer.
func (s *store) SetMany(ctx context.Context, entries []sdk.Entry) error {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = valueName(e.Key)
	}
	errs := make([]error, len(entries))
	s.spread(names, func(i int) { errs[i] = s.Set(ctx, entries[i].Key, entries[i].Value, entries[i].TTL) })
	return failures(errs, func(i int) string { return entries[i].Key })
}

// DeleteMany implements sdk.Batcher: one request to each server, and one for
// each key that is there.
func (s *store) DeleteMany(ctx context.Context, keys []string) (existed int, err error) {
	errs := make([]error, len(keys))
	var live atomic.Int64
	for from := 0; from < len(keys); {
		fetched := s.fetch(ctx, keys[from:])
		s.spread(namesOf(keys[from:from+len(fetched)]), func(i int) {
			f, place := fetched[i], from+i
			if errs[place] = f.err; f.item == nil {
				return
			}
			removed, err := s.remove(ctx, keys[place], f.item)
			if errs[place] = err; removed {
				live.Add(1)
			}
		})
		from += len(fetched)
	}
	return int(live.Load()), failures(errs, func(i int) string { return keys[i] })
}

// failures makes a *sdk.BatchError of the errors that are none-nil.
func failures(errs []error, key func(int) string) error {
	var failed []sdk.KeyError
	for i, err := range errs {
		if err != nil {
			failed = append(failed, sdk.KeyError{Key: key(i), Err: err})
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &sdk.BatchError{Failed: failed}
}

func namesOf(keys []string) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = valueName(key)
	}
	return names
}

// fetched is what a batch found of one key.
type fetched struct {
	item *memcache.Item // nil: nothing
	err  error
}

func (f fetched) entry(key string) (entry, error) {
	if f.err != nil {
		return entry{}, f.err
	}
	return read(f.item, plain, key)
}

// fetch asks each server for its share of the keys, and answers for as many of
// them as it can at once, at least one.
func (s *store) fetch(ctx context.Context, keys []string) []fetched {
	found := make([]fetched, len(keys))
	shares := s.divide(namesOf(keys))
	together(shares, func(part *share) {
		items, known, err := part.server.getMany(ctx, part.names)
		for i, place := range part.places {
			found[place] = fetched{items[part.names[i]], err}
		}
		part.known = known
	})
	answered := len(keys)
	for _, part := range shares {
		if part.known < len(part.places) {
			answered = min(answered, part.places[part.known])
		}
	}
	return found[:answered]
}

// getMany asks for all names at once. It knows of the first of them only, at
// least one, if the answer grows too large.
func (s *server) getMany(ctx context.Context, names []string) (items map[string]*memcache.Item, known int, err error) {
	answer, err := s.do(ctx, &order{repeat: reads, room: mostAnswer, run: func(l *lane) (any, error) {
		return l.client.GetMulti(names)
	}})
	items, _ = answer.(map[string]*memcache.Item)
	if !errors.Is(err, errSurfeit) {
		return items, len(names), err
	}
	known = len(names)
	for known > 0 && items[names[known-1]] == nil { // the server answers in order, and leaves out misses
		known--
	}
	if known > 0 {
		return items, known, nil
	}
	item, err := s.get(ctx, names[0])
	return map[string]*memcache.Item{names[0]: item}, 1, err
}

// spread does something for each of the names, several of one server's at once.
func (s *store) spread(names []string, do func(place int)) {
	together(s.divide(names), func(part *share) {
		var next atomic.Int64
		var all sync.WaitGroup
		for range min(writers, len(part.places)) {
			all.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(part.places)); i = next.Add(1) - 1 {
					do(part.places[i])
				}
			})
		}
		all.Wait()
	})
}
