package memcached

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/cachewright/cachewright/sdk"
)

// Clear implements sdk.Clearer, for stores that have their servers to
// themselves: whatever the prefix, everything on all of them goes, leases too.
// What it removed is as many items as the servers counted just before.
func (s *store) Clear(ctx context.Context, _ string, _ []byte) (next []byte, removed int, err error) {
	var items, flushed atomic.Int64
	err = s.each(func(_ int, srv *server) error {
		n, err := srv.flush(ctx)
		if err == nil {
			flushed.Add(1)
			items.Add(n)
		}
		return err
	})
	if err != nil && flushed.Load() > 0 {
		err = fmt.Errorf("%w: %d of %d servers were cleared: %v", sdk.ErrMaybeApplied, flushed.Load(), len(s.ring), err)
		if ended := ctx.Err(); ended != nil {
			err = fmt.Errorf("%w: %w", err, ended)
		}
	}
	return nil, int(items.Load()), err
}

// flush removes all items of a server, and returns how many there were.
func (s *server) flush(ctx context.Context) (items int64, err error) {
	answer, err := s.do(ctx, &order{repeat: again, run: func(l *lane) (any, error) {
		stats, err := l.statistics("stats")
		if err != nil {
			return nil, err
		}
		n, _ := strconv.ParseInt(stats["curr_items"], 10, 64)
		return n, l.client.FlushAll()
	}})
	items, _ = answer.(int64)
	return items, err
}

// statistics asks for what gomemcache has no call for.
func (l *lane) statistics(command string) (map[string]string, error) {
	l.in.Reset(l.link)
	return statistics(l.link, l.in, command)
}
