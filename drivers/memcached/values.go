package memcached

import (
	"context"
	"fmt"
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

// readItem reads an item of a key.
func readItem(item *memcache.Item, flags byte, key string) (e entry, err error) {
	if item == nil {
		return entry{}, nil
	}
	e.item = item
	e.deadline, e.value, err = parseItem(item.Value, flags, key)
	if err != nil {
		return e, fmt.Errorf("%w; %s", err, repair(flags, item.Key))
	}
	e.live = lives(e.deadline, time.Now())
	return e, nil
}

// repair says what to do about an item that can't be read. Nothing but the
// server's own commands reaches the record of a lock.
func repair(flags byte, name string) string {
	if flags == isLease {
		return fmt.Sprintf("once nobody is in the lock, remove the item %s from the server", name)
	}
	return "set or delete the key to repair it"
}

// lookup reads the entry of a key.
func (s *store) lookup(ctx context.Context, key string) (entry, error) {
	name := valueName(key)
	item, err := s.of(name).get(ctx, name)
	if err != nil {
		return entry{}, err
	}
	return readItem(item, plain, key)
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
	w := newWrite(valueName(key), key, value, ttl)
	return s.of(w.name).obey(ctx, w.set())[0]
}

// Delete implements sdk.Store. Only the item itself tells whether the entry was
// live, so that it is read first.
func (s *store) Delete(ctx context.Context, key string) (existed bool, err error) {
	name := valueName(key)
	item, err := s.of(name).get(ctx, name)
	if err != nil || item == nil {
		return false, err
	}
	return removed(key, item, s.of(name).obey(ctx, remove(name))[0])
}

// removed says what the result of removing an item means. One that can't be
// read counts as a live entry.
func removed(key string, item *memcache.Item, result error) (existed bool, err error) {
	if result != nil {
		return false, absent(result)
	}
	e, unreadable := readItem(item, plain, key)
	return e.live || unreadable != nil, nil
}

// absent makes it no error that there was nothing.
func absent(err error) error {
	if err == memcache.ErrCacheMiss {
		return nil
	}
	return err
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
	return s.each(func(_ int, srv *server) error {
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
