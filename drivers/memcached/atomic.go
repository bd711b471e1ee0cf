package memcached

import (
	"bytes"
	"context"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/cachewright/cachewright/sdk"
)

// Add implements sdk.Adder. Memcached's own add is enough where nothing is; an
// expired entry that the server still has is swapped.
func (s *store) Add(ctx context.Context, key string, value []byte, ttl time.Duration) (added bool, err error) {
	w := newWrite(valueName(key), key, value, ttl)
	_, err = s.of(w.name).do(ctx, w.order(once, (*memcache.Client).Add))
	if err != memcache.ErrNotStored {
		return err == nil, err
	}
	err = s.edit(ctx, entryOf(key, once), func(e entry, now time.Time, _ bool) (edit, error) {
		added = !e.live
		if e.live {
			return leaveIt, nil
		}
		return lasting(value, now, ttl), nil
	})
	return added && err == nil, err
}

// Replace implements sdk.Replacer.
func (s *store) Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (replaced bool, err error) {
	err = s.edit(ctx, entryOf(key, once), func(e entry, now time.Time, _ bool) (edit, error) {
		replaced = e.live
		if !e.live {
			return leaveIt, nil
		}
		return lasting(value, now, ttl), nil
	})
	return replaced && err == nil, err
}

// Pull implements sdk.Puller.
func (s *store) Pull(ctx context.Context, key string) (value []byte, ok bool, err error) {
	err = s.edit(ctx, entryOf(key, once), func(e entry, _ time.Time, _ bool) (edit, error) {
		value, ok = e.value, e.live
		if !e.live {
			return leaveIt, nil
		}
		return removeIt, nil
	})
	if err != nil || !ok {
		return nil, false, err
	}
	return value, true, nil
}

// Increment implements sdk.Counter. Memcached's own incr knows no sign, no
// overflow and no absent counter.
func (s *store) Increment(ctx context.Context, key string, delta int64, initialTTL time.Duration) (sum int64, err error) {
	err = s.edit(ctx, entryOf(key, once), func(e entry, now time.Time, _ bool) (edit, error) {
		if !e.live {
			sum = delta
			return lasting(sdk.FormatInteger(sum), now, initialTTL), nil
		}
		added, err := sdk.AddInteger(e.value, delta)
		sum = added
		return edit{change: true, value: sdk.FormatInteger(added), deadline: e.deadline}, err
	})
	if err != nil {
		return 0, err
	}
	return sum, nil
}

// CompareDelete implements sdk.CompareDeleter. After a lost answer it reports
// an entry that is gone as deleted.
func (s *store) CompareDelete(ctx context.Context, key string, value []byte) (deleted bool, err error) {
	err = s.edit(ctx, entryOf(key, again), func(e entry, _ time.Time, unsure bool) (edit, error) {
		matches := e.live && bytes.Equal(e.value, value)
		deleted = matches || unsure
		if !matches {
			return leaveIt, nil
		}
		return removeIt, nil
	})
	return deleted && err == nil, err
}

// Touch implements sdk.Inspector. The deadline is part of the item, so that it
// is written anew.
func (s *store) Touch(ctx context.Context, key string, ttl time.Duration) (touched bool, err error) {
	err = s.edit(ctx, entryOf(key, again), func(e entry, now time.Time, _ bool) (edit, error) {
		touched = e.live
		if !e.live {
			return leaveIt, nil
		}
		return lasting(e.value, now, ttl), nil
	})
	return touched && err == nil, err
}
