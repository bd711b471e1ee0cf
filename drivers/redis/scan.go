package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cachewright/cachewright/sdk"
	"github.com/redis/go-redis/v9"
)

// A scan is where a listing of all servers stands between two pages. A server
// is known by its process: a cursor of another one, after a restart or a
// failover, would skip keys, so that such a server is begun again.
type scan struct {
	server  string // its name, while it is under way
	process string // which process of it
	at      uint64 // its own cursor, 0 at its beginning
	done    []string
}

// parseScan reads a cursor.
func parseScan(cursor []byte) (scan, error) {
	if len(cursor) == 0 {
		return scan{}, nil
	}
	parts := strings.Split(string(cursor), "\n")
	if len(parts) < 3 {
		return scan{}, fmt.Errorf("%w: the cursor is none of a redis store", sdk.ErrInternal)
	}
	at, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil {
		return scan{}, fmt.Errorf("%w: the cursor is none of a redis store", sdk.ErrInternal)
	}
	return scan{parts[0], parts[1], at, parts[3:]}, nil
}

func (c *scan) bytes() []byte {
	parts := append([]string{c.server, c.process, strconv.FormatUint(c.at, 10)}, c.done...)
	return []byte(strings.Join(parts, "\n"))
}

// find returns the server to go on with, nil if all are done.
func (p *page) find(ctx context.Context) (*server, error) {
	masters, err := p.route.masters(ctx)
	if err != nil {
		return nil, p.fault(ctx, err)
	}
	masters = slices.Clone(masters)
	i := slices.IndexFunc(masters, func(srv *server) bool { return srv.name == p.server })
	if i > 0 { // the one under way first
		masters[0], masters[i] = masters[i], masters[0]
	}
	for _, srv := range masters {
		process, err := p.processOf(ctx, srv)
		if err != nil {
			return nil, err
		}
		if slices.Contains(p.done, process) {
			continue
		}
		if srv.name != p.server || process != p.process {
			p.server, p.process, p.at = srv.name, process, 0
		}
		return srv, nil
	}
	return nil, nil
}

// processOf names the process behind a server.
func (s *store) processOf(ctx context.Context, srv *server) (string, error) {
	info, err := s.info(ctx, srv, "server")
	if err != nil {
		return "", err
	}
	if id := info["run_id"]; id != "" {
		return id[:min(len(id), 16)], nil
	}
	return srv.name, nil
}

// step scans a little of the server and returns keys that start with the
// prefix.
func (p *page) step(ctx context.Context, srv *server) ([]string, error) {
	args := []any{"scan", p.at, "count", p.count}
	if p.prefix != "" {
		args = append(args, "match", literal(p.prefix)+"*")
	}
	cmd := redis.NewScanCmd(ctx, nil, args...)
	if err := p.do(ctx, call{cmd: cmd, repeat: reads, apart: true, on: srv}); err != nil {
		return nil, err
	}
	p.count = min(2*p.count, mostCount)
	found, next := cmd.Val()
	p.at = next
	return slices.DeleteFunc(found, func(key string) bool { return !isEntry(key) }), nil
}

// over ends a server, unless it has become another process meanwhile.
func (p *page) over(ctx context.Context, srv *server) error {
	process, err := p.processOf(ctx, srv)
	if err != nil {
		return err
	}
	if process == p.process {
		p.done = append(p.done, process)
		p.server, p.process = "", ""
	}
	return nil
}

// A page is one page of a walk over the keys of all servers.
type page struct {
	*store
	scan
	prefix string
	count  int // how much to look through in the next step
	end    time.Time
	visit  func(keys []string) (enough bool, err error)
}

// walk visits keys until enough says so, and returns the cursor of the next
// page.
func (s *store) walk(ctx context.Context, prefix string, cursor []byte, count int, visit func(keys []string) (enough bool, err error)) ([]byte, error) {
	at, err := parseScan(cursor)
	if err != nil {
		return nil, err
	}
	p := page{s, at, prefix, count, time.Now().Add(pageTime), visit}
	for {
		srv, err := p.find(ctx)
		if err != nil || srv == nil {
			return nil, err
		}
		full, err := p.through(ctx, srv)
		if err != nil {
			return nil, err
		}
		if full {
			return p.bytes(), nil
		}
	}
}

// through visits the keys of one server, until it has no more or the page is
// full.
func (p *page) through(ctx context.Context, srv *server) (full bool, err error) {
	for !full {
		keys, err := p.step(ctx, srv)
		if err != nil {
			return false, err
		}
		enough, err := p.visit(keys)
		if err != nil {
			return false, err
		}
		full = enough || time.Now().After(p.end)
		if p.at == 0 {
			return full, p.over(ctx, srv)
		}
	}
	return true, nil
}

const (
	// pageTime is about how long a page takes at most.
	pageTime = 200 * time.Millisecond
	// mostCount is how much of its table a server looks through at a time, which
	// others wait for.
	mostCount = 512
)

// Keys implements sdk.Lister.
func (s *store) Keys(ctx context.Context, prefix string, cursor []byte, limit int) (keys []string, next []byte, err error) {
	next, err = s.walk(ctx, prefix, cursor, min(max(limit, 1), mostCount), func(found []string) (bool, error) {
		keys = append(keys, found...)
		return len(keys) >= limit, nil
	})
	return keys, next, err
}

// Clear implements sdk.Clearer.
func (s *store) Clear(ctx context.Context, prefix string, cursor []byte) (next []byte, removed int, err error) {
	if prefix == "" && !s.options.Dedicated {
		return nil, 0, fmt.Errorf("the store has no prefix, and its database may hold what is not its own: give the store a prefix, or the option dedicated: true: %w", errors.ErrUnsupported)
	}
	next, err = s.walk(ctx, prefix, cursor, mostCount, func(found []string) (bool, error) {
		if len(found) == 0 {
			return false, nil
		}
		n, err := s.DeleteMany(ctx, found)
		removed += n
		return removed >= 8*mostCount, err
	})
	return next, removed, err
}

// isEntry tells the keys of entries from those of leases, and from what other
// programs have under names that no entry can have.
func isEntry(key string) bool {
	return len(key) > 0 && len(key) <= longestKey && utf8.ValidString(key) && !strings.ContainsRune(key, 0)
}

var escapes = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `\`, `\\`)

// literal escapes what means more than itself in a pattern.
func literal(text string) string { return escapes.Replace(text) }
