package file

import (
	"context"
	"time"

	"github.com/cachewright/cachewright/sdk"
	"golang.org/x/sys/unix"
)

// A store is one directory of entries.
//
// Every change of an entry happens under the lock of its folder, Set's too: a
// Set that didn't ask for it could land between the reading and the writing of
// an Increment or a Pull, or just before the removal of the expired entry that
// it replaces, and would be lost although it was reported done. Reading takes
// no lock and removes nothing.
type store struct {
	set     settings
	entries *tree
	sweeper *sweeper
	leases  *leases
}

func newStore(set settings) *store {
	s := &store{set: set}
	s.entries = newTree(&s.set, "entries")
	s.sweeper = startSweeper(s.entries, set.sweepInterval)
	s.leases = newLeases(&s.set)
	return s
}

// Close ends the sweeping and the waits for locks. Nothing else is held between
// calls.
func (s *store) Close() error {
	s.sweeper.stop()
	s.leases.close()
	return nil
}

// Traits are sdk.TraitReporter's. The directory is canonical as of the opening
// and is not followed elsewhere later, so that stores of equal Space do share
// their files.
func (s *store) Traits() sdk.Traits {
	return sdk.Traits{
		Granularity:     time.Millisecond,
		MaxKey:          maxKey,
		LockStrategy:    sdk.StrategyLocal,
		LockScope:       sdk.ScopeHost,
		Class:           sdk.ClassOverlap,
		ReleaseCompares: true,
		Space:           s.set.root,
	}
}

// Get is sdk.Store's.
func (s *store) Get(_ context.Context, key string) ([]byte, bool, error) {
	n, name := place(key)
	path := s.entries.filePath(n, name)
	fd, err := openPath(path, readFlags)
	if err != nil {
		return s.getSlowly(n, name, key, err)
	}
	defer unix.Close(fd)
	it, ok, err := live(readItem(fd, key))
	return it.value, ok, explain(path, err)
}

// getSlowly finds out why an entry could not be opened: whether the fault is
// the entry's or that of a directory above it.
func (s *store) getSlowly(n byte, name, key string, cause error) ([]byte, bool, error) {
	if cause == unix.ENOENT {
		return nil, false, nil
	}
	f, err := s.entries.open(n)
	if err == unix.ENOENT {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, explain(s.entries.folderPath(n), err)
	}
	defer f.close()
	it, ok, err := live(f.read(name, key))
	return it.value, ok, explain(s.entries.filePath(n, name), err)
}

// live judges what was read: whether it is there, and not expired.
func live(it item, err error) (item, bool, error) {
	if err == unix.ENOENT {
		return item{}, false, nil
	}
	return it, err == nil && !it.expired, err
}

// Set is sdk.Store's.
func (s *store) Set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.change(ctx, key, creating, func(l lockedFolder, name string) error {
		return l.put(ctx, name, key, deadlineAfter(ttl), value)
	})
}

// Delete is sdk.Store's. An entry that can't be read was there.
func (s *store) Delete(ctx context.Context, key string) (existed bool, err error) {
	err = s.change(ctx, key, existing, func(l lockedFolder, name string) error {
		_, ok, unreadable := live(l.head(name))
		existed = ok || unreadable != nil
		return l.removeIfThere(name)
	})
	return existed && err == nil, err
}

// How a change treats a folder that is missing.
const (
	creating = true  // it is created
	existing = false // there is nothing to change
)

func (s *store) change(ctx context.Context, key string, create bool, fn func(l lockedFolder, name string) error) error {
	return s.entries.change(ctx, key, create, fn)
}

// change runs fn under the lock of the key's folder, again if the folder is
// removed under it. fn is given the name of the key's file.
func (t *tree) change(ctx context.Context, key string, create bool, fn func(l lockedFolder, name string) error) error {
	n, name := place(key)
	var err error
	for range maxAttempts {
		err = t.locked(ctx, n, create, func(l lockedFolder) error { return fn(l, name) })
		if err != errStale {
			break
		}
	}
	return explain(t.filePath(n, name), err)
}
