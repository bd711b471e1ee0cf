package file

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// pageTime is when a page of keys, or of a clear, ends.
	pageTime = 250 * time.Millisecond
	// holdTime is how long a clear or a sweep holds a folder's lock.
	holdTime = 20 * time.Millisecond
	// defaultKeys is how many keys a page has if nobody says.
	defaultKeys = 1000
	// batch is how many files are handled between two looks at the clock.
	batch = 64
)

// A position is where a walk through the entries stands: at a name in a folder,
// in the order of names. The zero position is before everything.
type position struct {
	folder int
	after  string // the last name that was dealt with
}

func parsePosition(cursor []byte) position {
	if len(cursor) == 0 {
		return position{}
	}
	return position{int(cursor[0]), string(cursor[1:])}
}

// cursor is nil at the end.
func (p position) cursor() []byte {
	if p.folder >= folders {
		return nil
	}
	return append([]byte{byte(p.folder)}, p.after...)
}

func (p position) nextFolder() position { return position{folder: p.folder + 1} }

// Keys is sdk.Lister's. An entry that can't be read has no key to list.
func (s *store) Keys(ctx context.Context, prefix string, cursor []byte, limit int) (keys []string, next []byte, err error) {
	if limit <= 0 {
		limit = defaultKeys
	}
	w := keyWalk{store: s, filter: newPrefixFilter(prefix), limit: limit, until: time.Now().Add(pageTime)}
	at := parsePosition(cursor)
	for at.folder < folders && !w.full() {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if at, err = w.folder(ctx, at); err != nil {
			return nil, nil, err
		}
	}
	return w.keys, at.cursor(), nil
}

// A keyWalk gathers a page of keys.
type keyWalk struct {
	store  *store
	filter prefixFilter
	limit  int
	until  time.Time
	keys   []string
}

func (w *keyWalk) full() bool { return len(w.keys) >= w.limit || time.Now().After(w.until) }

// folder gathers the keys of one folder and returns where it stopped.
func (w *keyWalk) folder(ctx context.Context, at position) (position, error) {
	n := byte(at.folder)
	path := w.store.entries.folderPath(n)
	f, err := w.store.entries.open(n)
	if err == unix.ENOENT {
		return at.nextFolder(), nil
	}
	if err != nil {
		return at, explain(path, err)
	}
	defer f.close()
	names, err := w.store.entries.namesUnderLock(ctx, n, f)
	if err != nil {
		return at, explain(path, err)
	}
	for i, name := range after(names, at.after) {
		if i%batch == batch-1 && w.full() || len(w.keys) >= w.limit {
			return at, nil
		}
		w.take(f, name)
		at.after = name
	}
	return at.nextFolder(), nil
}

func (w *keyWalk) take(f folder, name string) {
	matches, sure := w.filter.match(name)
	if !isEntry(name) || !matches && sure {
		return
	}
	it, ok, err := live(f.head(name))
	if err == nil && ok && strings.HasPrefix(it.key, w.filter.prefix) {
		w.keys = append(w.keys, it.key)
	}
}

// namesUnderLock lists a folder while nobody changes it. Without the lock, a
// file system may leave out a name whose file is replaced meanwhile. Where the
// lock can't be had for want of permission, nobody in this role writes either.
func (t *tree) namesUnderLock(ctx context.Context, n byte, f folder) (names []string, err error) {
	l, err := t.lock(ctx, n, existing)
	switch err {
	case nil:
		defer l.close()
	case unix.ENOENT:
		return nil, nil
	case unix.EACCES, unix.EPERM, unix.EROFS:
	default:
		return nil, err
	}
	err = f.each(-1, func(all []string) error {
		names = all
		return nil
	})
	return names, err
}

// Clear is sdk.Clearer's. It removes expired entries too, and with an empty
// prefix whatever else lies in the store's folders, and counts the files. A
// file that can't be read goes if its name alone says that it matches.
func (s *store) Clear(ctx context.Context, prefix string, cursor []byte) (next []byte, removed int, err error) {
	w := clearing{entries: s.entries, filter: newPrefixFilter(prefix)}
	at, until := parsePosition(cursor), time.Now().Add(pageTime)
	for at.folder < folders && time.Now().Before(until) {
		if at, err = w.some(ctx, at); err != nil {
			return nil, w.removed, explain(s.entries.folderPath(byte(at.folder)), err)
		}
	}
	return at.cursor(), w.removed, nil
}

// A clearing removes entries.
type clearing struct {
	entries *tree
	filter  prefixFilter
	removed int
}

// some removes entries of one folder, for holdTime at most, and returns where it
// stopped.
func (c *clearing) some(ctx context.Context, at position) (position, error) {
	next := at.nextFolder()
	err := c.entries.locked(ctx, byte(at.folder), existing, func(l lockedFolder) error {
		until := time.Now().Add(holdTime)
		return l.each(-1, func(names []string) error {
			for i, name := range after(names, at.after) {
				if i%batch == batch-1 && time.Now().After(until) {
					next = at
					return ctx.Err()
				}
				if err := c.take(l, name); err != nil {
					return err
				}
				at.after = name
			}
			return nil
		})
	})
	if err == errStale {
		return at, nil // once more; nothing may be left of it
	}
	if err != nil {
		return at, err
	}
	return next, nil
}

// take removes a file if the clearing covers it. A directory with something in
// it is nobody's entry and stays.
func (c *clearing) take(l lockedFolder, name string) error {
	if !c.covers(l.folder, name) {
		return nil
	}
	err := l.remove(name)
	switch {
	case err == unix.ENOENT || err == unix.EISDIR:
		return nil
	case err == nil && isEntry(name):
		c.removed++
	}
	return err
}

func (c *clearing) covers(f folder, name string) bool {
	if isTemp(name) {
		return true
	}
	if !isEntry(name) {
		return false
	}
	matches, sure := c.filter.match(name)
	if sure {
		return matches
	}
	it, err := f.head(name)
	return err == nil && strings.HasPrefix(it.key, c.filter.prefix)
}

// after sorts names and returns those behind last.
func after(names []string, last string) []string {
	slices.Sort(names)
	first, found := slices.BinarySearch(names, last)
	if found {
		first++
	}
	return names[first:]
}
