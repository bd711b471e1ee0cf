package memcached

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// A write is an item on its way to the server. Its memory is its own, so that
// a worker may still send it when the caller has left.
type write struct {
	name       string
	item       []byte
	expiration int32
	cas        uint64
}

// newWrite writes an entry.
func newWrite(name, key string, value []byte, ttl time.Duration) write {
	now := time.Now()
	deadline := deadlineAfter(now, ttl)
	return write{name: name, item: newItem(plain, key, deadline, value), expiration: expiration(deadline, now)}
}

// order is to send it by one of gomemcache's commands.
func (w write) order(r repeat, send func(*memcache.Client, *memcache.Item) error) *order {
	return &order{repeat: r, size: len(w.name) + len(w.item), run: func(l *lane) (any, error) {
		return nil, send(l.client, &memcache.Item{Key: w.name, Value: w.item, Expiration: w.expiration, CasID: w.cas})
	}}
}

// A subject is an item that is changed by reading and swapping.
type subject struct {
	key, name string
	flags     byte
	repeat    repeat // again or once, of the change as a whole
}

// An edit is what becomes of an entry. The zero value leaves it as it is.
type edit struct {
	change   bool
	remove   bool
	value    []byte
	deadline int64
}

// edit has decide look at what is there, and makes the change that it wants:
// atomically, since it is only made if nobody has changed the item meanwhile;
// otherwise decide looks again. What can't be read is an error. unsure is true
// if an earlier change of this call may have been made.
func (s *store) edit(ctx context.Context, of subject, decide func(e entry, now time.Time, unsure bool) (edit, error)) error {
	leave, err := s.turns.enter(ctx, of.name)
	if err != nil {
		return err
	}
	defer leave()
	srv := s.of(of.name)
	losses := 0
	for try := 0; ; try++ {
		item, err := srv.get(ctx, of.name)
		if err != nil {
			return doubtful(err, losses > 0)
		}
		e, err := readItem(item, of.flags, of.key)
		if err != nil {
			return doubtful(err, losses > 0)
		}
		now := time.Now()
		wanted, err := decide(e, now, losses > 0)
		if err != nil || !wanted.change {
			return err
		}
		swapped, err := srv.swap(ctx, of, e, wanted, now)
		if lost, ok := err.(*lostError); ok && lost.maybe && of.repeat == again && losses < mostLosses-1 {
			losses++
			continue
		}
		if err != nil || swapped {
			return doubtful(err, losses > 0)
		}
		if err := hesitate(ctx, try); err != nil {
			return doubtful(err, losses > 0)
		}
	}
}

// swap makes a change if the item is still the one that was read.
func (s *server) swap(ctx context.Context, of subject, e entry, wanted edit, now time.Time) (swapped bool, err error) {
	w := write{name: of.name, expiration: expiration(wanted.deadline, now)}
	if wanted.remove {
		w.expiration = gone
	} else {
		w.item = newItem(of.flags, of.key, wanted.deadline, wanted.value)
	}
	send := (*memcache.Client).Add
	if e.item != nil {
		w.cas = e.item.CasID
		send = (*memcache.Client).CompareAndSwap
	}
	_, err = s.do(ctx, w.order(once, send))
	if err != nil && isAnswer(err) {
		return false, nil
	}
	return err == nil, err
}

// hesitate waits a little before another try, so that competitors don't stay
// in step. The first is for free.
func hesitate(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(rand.N(time.Millisecond << min(try, 5)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// entryOf is the subject of an entry.
func entryOf(key string, r repeat) subject {
	return subject{key: key, name: valueName(key), flags: plain, repeat: r}
}

// lasting is a new entry that lives for ttl.
func lasting(value []byte, now time.Time, ttl time.Duration) edit {
	return edit{change: true, value: value, deadline: deadlineAfter(now, ttl)}
}

var (
	leaveIt  = edit{}
	removeIt = edit{change: true, remove: true}
)
