package memcached

import (
	"context"
	"errors"

	"github.com/bradfitz/gomemcache/memcache"
)

const (
	// widest is how many lookups fly together at most.
	widest = 64
	// heavy is how many bytes a flight brings at most before the next ones are
	// narrower, so that small values don't wait behind large ones for long.
	heavy = 256 << 10
	// heaviest is how many bytes a flight may bring at all.
	heaviest = 64 << 20
)

// A lookup is a caller that wants one item. Concurrent ones become one request
// to the server.
type lookup struct {
	waiter
	name string

	item *memcache.Item // nil: there is none; readable once done is closed, as err is
	err  error
}

func (l *lookup) end(item *memcache.Item, err error) {
	l.item, l.err = item, err
	close(l.done)
}

// A flight is lookups on their way together.
type flight struct {
	lookups []*lookup
	bytes   int
}

// mostFlights is how many lanes lookups may use: the fewer, the more of them
// fly together.
func (s *server) mostFlights() int { return min(2, max(1, s.connections/4)) }

func (f *flight) perform(l *lane) {
	o := &order{repeat: reads, run: f.fly}
	answer, err := l.exchange(o, nil)
	found, _ := answer.(map[string]*memcache.Item)
	for _, l := range f.lookups {
		if item := found[l.name]; item != nil || err == nil {
			l.end(item, nil)
		} else {
			l.end(nil, err)
		}
	}
}

func (f *flight) fly(l *lane) (any, error) {
	defer func() { f.bytes = l.link.hasRead }()
	if len(f.lookups) == 1 {
		name := f.lookups[0].name
		item, err := l.client.Get(name)
		return map[string]*memcache.Item{name: item}, absent(err)
	}
	return l.client.GetMulti(f.names())
}

// names are what to ask for, each once.
func (f *flight) names() []string {
	names := make([]string, 0, len(f.lookups))
	seen := make(map[string]struct{}, len(f.lookups))
	for _, l := range f.lookups {
		if _, twice := seen[l.name]; !twice {
			seen[l.name] = struct{}{}
			names = append(names, l.name)
		}
	}
	return names
}

func upTo(most int) func(*lookup) bool {
	return func(*lookup) bool {
		most--
		return most >= 0
	}
}

// widthNow is how many lookups the next flight takes, under mu.
func (s *server) widthNow() int {
	width := s.width
	if limit := s.limit.Load(); limit > 0 {
		width = min(width, int(max(1, heaviest/limit)))
	}
	return width
}

// adapt makes the next flights as wide as this one's weight suggests, under mu.
func (s *server) adapt(f *flight) {
	switch {
	case f.bytes > heavy:
		s.width = max(1, min(s.width, len(f.lookups))/2)
	case s.width < widest && len(f.lookups) == s.width && f.bytes < heavy/2:
		s.width *= 2
	}
}

// get returns the item of a name, nil if there is none.
func (s *server) get(ctx context.Context, name string) (*memcache.Item, error) {
	for losses := 1; ; losses++ {
		item, err := s.look(ctx, name)
		if _, isLost := errors.AsType[*lostError](err); !isLost || losses == mostLosses {
			return item, err
		}
	}
}

// look has a worker look the name up, and leaves when ctx ends.
func (s *server) look(ctx context.Context, name string) (*memcache.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &lookup{waiter: newWaiter(), name: name}
	if err := s.enqueue(func() { s.lookups.push(l) }); err != nil {
		return nil, err
	}
	if l.wait(ctx) {
		return l.item, l.err
	}
	l.fate.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookups.forget(l)
	return nil, ctx.Err()
}
