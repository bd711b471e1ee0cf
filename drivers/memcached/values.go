package memcached

import (
	"context"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/cachewright/cachewright/sdk"
)

// An entry is what a read found under a name.
type entry struct {
	item     *memcache.Item // nil: nothing
	deadline int64
	value    []byte
	live     bool
}

// read reads an item of a key.
func read(item *memcache.Item, flags byte, key string) (e entry, err error) {
	if item == nil {
		return entry{}, nil
	}
	e.item = item
	e.deadline, e.value, err = parseItem(item.Value, flags, key)
	e.live = err == nil && lives(e.deadline, time.Now())
	return e, err
}

// lookup reads the entry of a key.
func (s *store) lookup(ctx context.Context, key string) (entry, error) {
	name := valueName(key)
	item, err := s.of(name).get(ctx, name)
	if err != nil {
		return entry{}, err
	}
	return read(item, plain, key)
}

// Get implements sdk.Store. Concurrent calls go to a server together.
func (s *store) Get(ctx context.Context, key string) (value []byte, ok bool, err error) {
	e, err := s.lookup(ctx, key)
	if err != nil || !e.live {
		return nil, false, err
	}
	return e.value, true, nil
}

// Set implements sdk.Store.
func (s *store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	now := time.Now()
	deadline := deadlineAfter(now, ttl)
	w := write{name: valueName(key), item: newItem(plain, key, deadline, value), expiration: expiration(deadline, now)}
	_, err := s.of(w.name).do(ctx, w.order(again, (*memcache.Client).Set))
	return err
}

// Delete implements sdk.Store. Only the item itself tells whether the entry was
// live, so that it is read first.
func (s *store) Delete(ctx context.Context, key string) (existed bool, err error) {
	name := valueName(key)
	item, err := s.of(name).get(ctx, name)
	if err != nil || item == nil {
		return false, err
	}
	return s.remove(ctx, key, item)
}

// remove deletes whatever has the key's name now. An item that can't be read
// counts as live.
func (s *store) remove(ctx context.Context, key string, item *memcache.Item) (existed bool, err error) {
	e, unreadable := read(item, plain, key)
	name := item.Key
	_, err = s.of(name).do(ctx, &order{repeat: again, run: func(l *lane) (any, error) {
		return nil, l.client.Delete(name)
	}})
	if err == memcache.ErrCacheMiss {
		return false, nil
	}
	return err == nil && (e.live || unreadable != nil), err
}

// TTL implements sdk.Inspector. It reads the whole item.
func (s *store) TTL(ctx context.Context, key string) (ttl time.Duration, ok bool, err error) {
	e, err := s.lookup(ctx, key)
	if err != nil || !e.live {
		return 0, false, err
	}
	return remaining(e.deadline, time.Now()), true, nil
}

// Ping implements sdk.Pinger: all servers must answer.
func (s *store) Ping(ctx context.Context) error {
	return s.each(func(srv *server) error {
		_, err := srv.do(ctx, &order{repeat: reads, run: func(l *lane) (any, error) { return nil, l.client.Ping() }})
		return err
	})
}

var _ interface {
	sdk.Store
	sdk.Adder
	sdk.Replacer
	sdk.Puller
	sdk.Counter
	sdk.CompareDeleter
	sdk.Batcher
	sdk.Clearer
	sdk.Inspector
	sdk.Leaser
	sdk.LeaseRenewer
	sdk.Pinger
	sdk.StatsReporter
	sdk.TraitReporter
} = (*store)(nil)
