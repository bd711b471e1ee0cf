package memcached

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/cachewright/cachewright/sdk"
)

// mostAnswer is how many bytes one server may answer to one batch; the sdk asks
// again for the keys that go without an answer.
const mostAnswer = 48 << 20

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

// SetMany implements sdk.Batcher: some hundreds of entries go out together.
func (s *store) SetMany(ctx context.Context, entries []sdk.Entry) error {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = valueName(e.Key)
	}
	errs := make([]error, len(entries))
	weigh := func(i int) int { return len(entries[i].Key) + len(entries[i].Value) }
	s.spread(names, weigh, func(srv *server, places []int) {
		commands := make([]command, len(places))
		for i, place := range places {
			e := entries[place]
			commands[i] = newWrite(names[place], e.Key, e.Value, e.TTL).set()
		}
		for i, result := range srv.obey(ctx, commands...) {
			errs[places[i]] = result
		}
	})
	return failures(errs, func(i int) string { return entries[i].Key })
}

// DeleteMany implements sdk.Batcher: one request to each server tells which
// keys are there, and those are removed together.
func (s *store) DeleteMany(ctx context.Context, keys []string) (existed int, err error) {
	errs := make([]error, len(keys))
	for from := 0; from < len(keys); {
		fetched := s.fetch(ctx, keys[from:])
		existed += s.removeAll(ctx, keys[from:], fetched, errs[from:])
		from += len(fetched)
	}
	return existed, failures(errs, func(i int) string { return keys[i] })
}

// removeAll removes what was fetched of the keys, and counts the live entries.
func (s *store) removeAll(ctx context.Context, keys []string, fetched []fetched, errs []error) int {
	var there []int
	var names []string
	for i, f := range fetched {
		if errs[i] = f.err; f.item != nil {
			there = append(there, i)
			names = append(names, f.item.Key)
		}
	}
	var live atomic.Int64
	s.spread(names, func(int) int { return 0 }, func(srv *server, places []int) {
		commands := make([]command, len(places))
		for i, place := range places {
			commands[i] = remove(names[place])
		}
		for i, result := range srv.obey(ctx, commands...) {
			at := there[places[i]]
			existed, err := removed(keys[at], fetched[at].item, result)
			if errs[at] = err; existed {
				live.Add(1)
			}
		}
	})
	return int(live.Load())
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
	return readItem(f.item, plain, key)
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
	answer, err := s.do(ctx, &order{repeat: reads, room: s.mostAnswer, run: func(l *lane) (any, error) {
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

// spread divides names among the servers, and does something for some hundreds
// of one server's at a time. weigh tells how much is sent for one.
func (s *store) spread(names []string, weigh func(place int) int, do func(srv *server, places []int)) {
	together(s.divide(names), func(part *share) {
		for from := 0; from < len(part.places); {
			to, bytes := from, 0
			for to < len(part.places) && to-from < convoyCommands && (to == from || bytes+weigh(part.places[to]) <= convoyBytes) {
				bytes += weigh(part.places[to])
				to++
			}
			do(part.server, part.places[from:to])
			from = to
		}
	})
}
